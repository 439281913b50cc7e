#include "page/tables.hpp"

#include "text/printers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

namespace nf4bench::page {
namespace {

// Without marks: what is bold is plain, and a character behind a backslash stands for itself.
std::string plain(std::string_view text) {
  std::string words;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '*') continue;
    if (text[i] == '\\' && i + 1 < text.size()) ++i;
    words += text[i];
  }
  return text::in_html(words);
}

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

// What stands between the bars of a line "| a | b |".
std::vector<std::string_view> cells_of(std::string_view line) {
  std::vector<std::string_view> cells;
  line.remove_prefix(1);
  for (std::size_t end = 0; end < line.size(); ++end) {
    if (line[end] == '\\') {
      ++end;
    } else if (line[end] == '|') {
      cells.push_back(trimmed(line.substr(0, end)));
      line.remove_prefix(end + 1);
      end = std::string_view::npos;
    }
  }
  return cells;
}

std::string row_of(std::string_view line, const char* tag) {
  std::string row = "<tr>";
  for (const std::string_view cell : cells_of(line)) {
    row += fmt::format("<{0}>{1}</{0}>", tag, plain(cell));
  }
  return row + "</tr>\n";
}

// What lines stand in together; a table scrolls by itself where it is wide.
struct Block {
  std::string_view begin;
  std::string_view end;
};
constexpr Block kNone;
constexpr Block kTable = {"<div class=\"wide\"><table>\n", "</table></div>\n"};
constexpr Block kList = {"<ul>\n", "</ul>\n"};

const Block& block_of(std::string_view line) {
  return line.starts_with("| ") ? kTable : line.starts_with("- ") ? kList : kNone;
}

std::string line_of(std::string_view line, bool is_first) {
  if (line.starts_with("| ---")) return "";
  if (line.starts_with("| ")) return row_of(line, is_first ? "th" : "td");
  if (line.starts_with("- ")) return fmt::format("<li>{}</li>\n", plain(line.substr(2)));
  if (line.starts_with('#')) {
    const std::size_t level = line.find(' ');
    return fmt::format("<h{0}>{1}</h{0}>\n", level - 2, plain(line.substr(level + 1)));
  }
  constexpr std::string_view kSmall = "<sub>";  // which ends with the line
  if (line.starts_with(kSmall)) {
    line = line.substr(kSmall.size(), line.size() - 2 * kSmall.size() - 1);
  }
  return fmt::format("<p>{}</p>\n", plain(line.starts_with("> ") ? line.substr(2) : line));
}

}  // namespace

void write_tables(std::string_view markdown, const json::TextSink& sink) {
  const Block* open = &kNone;
  while (!markdown.empty()) {
    const std::size_t length = std::min(markdown.find('\n'), markdown.size());
    const std::string_view line = markdown.substr(0, length);
    markdown.remove_prefix(std::min(length + 1, markdown.size()));
    const Block* block = &block_of(line);
    const bool is_first = block != open;
    if (is_first) sink(open->end);
    if (is_first) sink(block->begin);
    open = block;
    if (!line.empty()) sink(line_of(line, is_first));
  }
  sink(open->end);
}

}  // namespace nf4bench::page
