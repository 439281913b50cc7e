#include "page/page.hpp"

#include "base/sha256.hpp"
#include "page/files.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <span>

namespace nf4bench::page {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string hash_of(std::string_view text) {
  Sha256 hash;
  hash.update(std::as_bytes(std::span(text)));
  return "'sha256-" + hash.base64() + "'";
}

std::string between(const std::string& text, const std::string& begin, const std::string& end) {
  const std::size_t start = text.find(begin) + begin.size();
  return text.substr(start, text.find(end, start) - start);
}

TEST(Page, NamesItsScriptAndStyleByHash) {
  const std::string text = page_text({.title = "H200", .json = "{}", .tables = ""});
  const std::string style = between(text, "<style>", "</style>");
  const std::string script = between(text, "<script>", "</script>");
  EXPECT_THAT(text, HasSubstr("default-src 'none'; style-src " + hash_of(style) + "; script-src " +
                              hash_of(script) + "; base-uri 'none'; form-action 'none'"));
  EXPECT_EQ(style, kStyle);
  EXPECT_EQ(script, kScript);
}

// The script names the SVG namespace, which nobody loads.
TEST(Page, LoadsNothing) {
  std::string text = page_text({.title = "H200", .json = "{}", .tables = ""});
  const std::string space = "'http://www.w3.org/2000/svg'";
  text.erase(text.find(space), space.size());
  for (const char* word : {"http:", "https:", "src=", "@import", "url(", "fetch(", "innerHTML"}) {
    EXPECT_THAT(text, Not(HasSubstr(word))) << word;
  }
}

TEST(Page, WritesJsonThatCannotEndItsElement) {
  const std::string text =
      page_text({.title = "", .json = R"({"name": "</script><!--<script>"})", .tables = ""});
  EXPECT_THAT(text, HasSubstr(R"({"name": "\u003c/script>\u003c!--\u003cscript>"})"));
}

TEST(Page, TakesItsTitleForNoMarkup) {
  const std::string text =
      page_text({.title = "</title>&\"'\x01\xff\u202e", .json = "{}", .tables = ""});
  EXPECT_THAT(text, HasSubstr("<title>nf4bench: &lt;/title&gt;&amp;&quot;&#39;\ufffd\ufffd\ufffd"
                              "</title>"));
}

TEST(Page, FillsEveryPlace) {
  EXPECT_THAT(page_text({.title = "{{data}}", .json = "{}", .tables = "{{title}}"}),
              HasSubstr("<title>nf4bench: {{data}}</title>"));
  const std::string text = page_text({.title = "", .json = "{}", .tables = ""});
  EXPECT_THAT(text, Not(HasSubstr("{{")));
}

}  // namespace
}  // namespace nf4bench::page
