#include "text/document.hpp"

#include "text/printers.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace nf4bench::text {
namespace {

constexpr int kLongestWords = 1000;

using Kind = Words::Kind;

std::string safe_markdown(const std::string& text) {
  return in_markdown(text, kLongestWords);
}

std::string markdown_of(const Words& words) {
  const std::string text = safe_markdown(words.text);
  switch (words.kind) {
    case Kind::kTitle:
      return fmt::format("### {}\n", text);
    case Kind::kHeading:
      return fmt::format("\n#### {}\n", text);
    case Kind::kParagraph:
      return fmt::format("\n{}\n", text);
    case Kind::kSmall:
      return fmt::format("\n<sub>{}</sub>\n", text);
    case Kind::kItem:
      break;
  }
  if (words.label.empty()) return fmt::format("- {}\n", text);
  const char* mark = words.tone == Tone::kBad ? "**" : "";
  return fmt::format("- {0}{1}:{0} {2}\n", mark, safe_markdown(words.label), text);
}

std::string html_of(const Words& words) {
  const std::string text = in_html(words.text);
  switch (words.kind) {
    case Kind::kTitle:
      return fmt::format("<h1>{}</h1>\n", text);
    case Kind::kHeading:
      return fmt::format("<h2>{}</h2>\n", text);
    case Kind::kParagraph:
    case Kind::kSmall:
      return fmt::format("<p>{}</p>\n", text);
    case Kind::kItem:
      break;
  }
  return fmt::format("<li>{}{}{}</li>\n", in_html(words.label), words.label.empty() ? "" : ": ",
                     text);
}

bool is_item(const std::variant<Words, Sheet>& part) {
  const Words* words = std::get_if<Words>(&part);
  return words != nullptr && words->kind == Kind::kItem;
}

}  // namespace

void Document::item(std::string label, std::string text, Tone tone) {
  if (text.empty()) return;
  add({.kind = Kind::kItem, .text = std::move(text), .label = std::move(label), .tone = tone});
}

void Document::table(Sheet sheet) {
  std::erase_if(sheet.sections, [](const Section& section) { return section.rows.empty(); });
  if (!sheet.sections.empty()) parts_.emplace_back(std::move(sheet));
}

std::string markdown(const Document& document) {
  std::string text;
  bool is_list = false;
  for (const auto& part : document.parts()) {
    if (is_item(part) && !is_list) text += '\n';
    is_list = is_item(part);
    const Sheet* sheet = std::get_if<Sheet>(&part);
    text += sheet != nullptr ? markdown(*sheet) : markdown_of(std::get<Words>(part));
  }
  return text;
}

std::string html(const Document& document) {
  std::string text;
  bool is_list = false;
  for (const auto& part : document.parts()) {
    if (is_item(part) != is_list) text += is_list ? "</ul>\n" : "<ul>\n";
    is_list = is_item(part);
    const Sheet* sheet = std::get_if<Sheet>(&part);
    text += sheet != nullptr ? html(*sheet) : html_of(std::get<Words>(part));
  }
  return text + (is_list ? "</ul>\n" : "");
}

}  // namespace nf4bench::text
