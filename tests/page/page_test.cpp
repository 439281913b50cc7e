#include "page/page.hpp"

#include "base/sha256.hpp"
#include "page/files.hpp"
#include "page/tables.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <span>

namespace nf4bench::page {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string tables_of(std::string_view markdown) {
  std::string text;
  write_tables(markdown, [&](std::string_view piece) { text += piece; });
  return text;
}

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
  const std::string text = page_text({.title = "H200", .json = "{}", .markdown = ""});
  const std::string style = between(text, "<style>", "</style>");
  const std::string script = between(text, "<script>", "</script>");
  EXPECT_THAT(text, HasSubstr("default-src 'none'; style-src " + hash_of(style) + "; script-src " +
                              hash_of(script) + "; base-uri 'none'; form-action 'none'"));
  EXPECT_EQ(style, kStyle);
  EXPECT_EQ(script, kScript);
}

// The script names the SVG namespace, which nobody loads.
TEST(Page, LoadsNothing) {
  std::string text = page_text({.title = "H200", .json = "{}", .markdown = ""});
  const std::string space = "'http://www.w3.org/2000/svg'";
  text.erase(text.find(space), space.size());
  for (const char* word : {"http:", "https:", "src=", "@import", "url(", "fetch(", "innerHTML"}) {
    EXPECT_THAT(text, Not(HasSubstr(word))) << word;
  }
}

TEST(Page, WritesJsonThatCannotEndItsElement) {
  const std::string text =
      page_text({.title = "", .json = R"({"name": "</script><!--<script>"})", .markdown = ""});
  EXPECT_THAT(text, HasSubstr(R"({"name": "\u003c/script>\u003c!--\u003cscript>"})"));
}

TEST(Page, TakesItsTitleForNoMarkup) {
  const std::string text =
      page_text({.title = "</title>&\"'\x01\xff\u202e", .json = "{}", .markdown = ""});
  EXPECT_THAT(text, HasSubstr("<title>nf4bench: &lt;/title&gt;&amp;&quot;&#39;\ufffd\ufffd\ufffd"
                              "</title>"));
}

TEST(Page, FillsEveryPlace) {
  EXPECT_THAT(page_text({.title = "{{data}}", .json = "{}", .markdown = "| {{title}} |"}),
              HasSubstr("<title>nf4bench: {{data}}</title>"));
  const std::string text = page_text({.title = "", .json = "{}", .markdown = ""});
  EXPECT_THAT(text, Not(HasSubstr("{{")));
}

TEST(Tables, AreThoseOfTheMarkdown) {
  EXPECT_EQ(
      tables_of("### A title\n\nSome words.\n\n| a | b |\n| --- | ---: |\n| 1 | 2 |\n| 3 | |\n"
                "\n#### Next\n\n- one\n- two\n\n> told\n"),
      "<h1>A title</h1>\n<p>Some words.</p>\n<div class=\"wide\"><table>\n"
      "<tr><th>a</th><th>b</th></tr>\n<tr><td>1</td><td>2</td></tr>\n"
      "<tr><td>3</td><td></td></tr>\n</table></div>\n<h2>Next</h2>\n"
      "<ul>\n<li>one</li>\n<li>two</li>\n</ul>\n<p>told</p>\n");
}

TEST(Tables, TakeEscapedMarksForText) {
  EXPECT_EQ(tables_of("| **a** | \\*b\\* |\n| x\\|y | \\<img\\> \\\\ \\& |\n"),
            "<div class=\"wide\"><table>\n<tr><th>a</th><th>*b*</th></tr>\n"
            "<tr><td>x|y</td><td>&lt;img&gt; \\ &amp;</td></tr>\n</table></div>\n");
  EXPECT_EQ(tables_of("<sub>small \\<b\\></sub>"), "<p>small &lt;b&gt;</p>\n");
}

TEST(Tables, EndWithTheirText) {
  EXPECT_EQ(tables_of("- one"), "<ul>\n<li>one</li>\n</ul>\n");
  EXPECT_EQ(tables_of("a \\"), "<p>a \\</p>\n");
  EXPECT_EQ(tables_of(""), "");
}

}  // namespace
}  // namespace nf4bench::page
