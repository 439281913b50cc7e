#include "text/layout.hpp"

#include "base/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace nf4bench::text {
namespace {

constexpr int kGap = 2;  // between columns
constexpr char kCutMark[] = "...";
constexpr int kCutMarkWidth = 3;

bool starts_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xc0u) != 0x80u;  // no UTF-8 continuation
}

// The byte at which character `count` of `text` starts.
std::size_t place_of(std::string_view text, int count) {
  std::size_t bytes = 0;
  for (int seen = 0; bytes < text.size(); ++bytes) {
    if (starts_character(text[bytes]) && seen++ == count) break;
  }
  return bytes;
}

// The widest of a column; 0 when nothing is known of it.
int widest_text(const Sheet& sheet, const Layout& layout, std::size_t column) {
  int widest = 0;
  for (std::size_t s = 0; s < layout.texts.size(); ++s) {
    for (std::size_t r = 0; r < layout.texts[s].size(); ++r) {
      const bool is_there = sheet.sections[s].rows[r].message.empty() || column < sheet.leading;
      const std::vector<std::string>& row = layout.texts[s][r];
      if (is_there && column < row.size()) widest = std::max(widest, text_width(row[column]));
    }
  }
  return widest;
}

bool has_numbers(const Sheet& sheet, std::size_t column) {
  return std::ranges::any_of(sheet.sections, [&](const Section& section) {
    return std::ranges::any_of(section.rows, [&](const Row& row) {
      return column < row.cells.size() && row.cells[column].is_number();
    });
  });
}

bool needs_margin(const Section& section) {
  return !section.title.empty() ||
         std::ranges::any_of(section.rows, [](const Row& row) { return row.mark != ' '; });
}

// The least that a column of `width` can be cut to.
int least_width(const Column& column, int width) {
  if (column.least == 0 || width == 0) return width;
  return std::min(width, std::max(column.least, text_width(column.name)));
}

// The shown column that goes first; widths.size() when none may go.
std::size_t first_to_drop(const std::vector<Column>& columns, const std::vector<int>& widths) {
  std::size_t chosen = widths.size();
  int rank = 0;
  for (std::size_t i = 0; i < widths.size(); ++i) {
    if (widths[i] == 0 || columns[i].rank <= rank) continue;
    rank = columns[i].rank;
    chosen = i;
  }
  return chosen;
}

// Drops columns, then cuts what may be cut.
void fit(const std::vector<Column>& columns, Layout& layout) {
  const std::vector<int> whole = layout.widths;
  std::vector<int>& widths = layout.widths;
  for (std::size_t i = 0; i < widths.size(); ++i) widths[i] = least_width(columns[i], whole[i]);
  const auto left = [&] { return layout.line_width - layout.end_of(widths.size()) + kGap; };
  while (left() < 0) {
    const std::size_t column = first_to_drop(columns, widths);
    if (column == widths.size()) break;
    widths[column] = 0;
  }
  constexpr int kLeast = 10;  // less of a text says nothing
  for (std::size_t i = 0; i < widths.size(); ++i) {
    if (columns[i].least == 0 || widths[i] == 0) continue;
    widths[i] = std::clamp(widths[i] + left(), std::min(kLeast, widths[i]), whole[i]);
  }
}

std::string legend_of(const Sheet& sheet, const std::vector<int>& widths) {
  std::vector<std::string> parts = sheet.legend;
  for (std::size_t i = 0; i < widths.size(); ++i) {
    const Column& column = sheet.columns[i];
    if (widths[i] > 0 && !column.meaning.empty()) {
      parts.push_back(fmt::format("{}: {}", column.name, column.meaning));
    }
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

}  // namespace

int Layout::end_of(std::size_t columns) const {
  int end = margin;
  for (std::size_t i = 0; i < columns; ++i) end += widths[i] > 0 ? widths[i] + kGap : 0;
  return end;
}

Layout lay_out(const Sheet& sheet, int line_width) {
  Layout layout;
  layout.line_width = line_width;
  layout.margin = std::ranges::any_of(sheet.sections, needs_margin) ? 2 : 0;
  for (const Section& section : sheet.sections) {
    layout.texts.push_back(texts_of(sheet.columns, section));
    for (std::vector<std::string>& row : layout.texts.back()) {
      std::ranges::transform(row, row.begin(), [](const auto& text) { return printable(text); });
    }
  }
  for (std::size_t i = 0; i < sheet.columns.size(); ++i) {
    const Column& column = sheet.columns[i];
    int widest = column.name.empty() ? 0 : widest_text(sheet, layout, i);
    if (column.most > 0) widest = std::min(widest, column.most);
    layout.widths.push_back(widest == 0 ? 0 : std::max(widest, text_width(column.name)));
    layout.has_numbers.push_back(has_numbers(sheet, i));
  }
  if (line_width > 0) fit(sheet.columns, layout);
  layout.legend = legend_of(sheet, layout.widths);
  return layout;
}

std::string fitted(std::string_view text, int width, Cut cut) {
  std::string whole = printable(text);
  const int length = text_width(whole);
  if (length <= width) return whole;
  const int kept = std::max(0, width - kCutMarkWidth);
  const int start = cut == Cut::kEnd ? kept : kept / 3;  // the end of a name says more
  return whole.substr(0, place_of(whole, start)) + kCutMark +
         whole.substr(place_of(whole, length - (kept - start)));
}

int text_width(std::string_view text) {
  return static_cast<int>(std::ranges::count_if(text, starts_character));
}

}  // namespace nf4bench::text
