#include "page/page.hpp"

#include "base/sha256.hpp"
#include "page/files.hpp"
#include "text/printers.hpp"

#include <fmt/format.h>

#include <span>
#include <string_view>

namespace nf4bench::page {
namespace {

// How a policy names the very text of a <style> or <script>. No hash allows a style attribute, so
// the page has none.
std::string source_of(std::string_view text) {
  Sha256 hash;
  hash.update(std::as_bytes(std::span(text)));
  return fmt::format("'sha256-{}'", hash.base64());
}

// In JSON "<" stands in strings alone. Written as a number it neither ends the script element nor
// begins a comment.
void write_json(std::string_view json, const json::TextSink& sink) {
  for (std::size_t mark = json.find('<'); mark != std::string_view::npos; mark = json.find('<')) {
    sink(json.substr(0, mark));
    sink("\\u003c");
    json.remove_prefix(mark + 1);
  }
  sink(json);
}

void write_part(std::string_view name, const Content& content, const json::TextSink& sink) {
  if (name == "title") sink(text::in_html(content.title));
  if (name == "style") sink(kStyle);
  if (name == "style source") sink(source_of(kStyle));
  if (name == "script") sink(kScript);
  if (name == "script source") sink(source_of(kScript));
  if (name == "tables") sink(content.tables);
  if (name == "data") write_json(content.json, sink);
}

}  // namespace

void write_page(const Content& content, const json::TextSink& sink) {
  std::string_view rest = kTemplate;
  for (std::size_t begin = rest.find("{{"); begin != std::string_view::npos;
       begin = rest.find("{{")) {
    sink(rest.substr(0, begin));
    const std::size_t end = rest.find("}}", begin);
    write_part(rest.substr(begin + 2, end - begin - 2), content, sink);
    rest.remove_prefix(end + 2);
  }
  sink(rest);
}

std::string page_text(const Content& content) {
  std::string text;
  write_page(content, [&](std::string_view piece) { text += piece; });
  return text;
}

}  // namespace nf4bench::page
