#include "text/text_grid.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <numeric>

namespace nf4bench::text {
namespace {

constexpr char kGap[] = "  ";  // between columns
constexpr int kGapWidth = 2;
constexpr int kMargin = 2;  // the marker and a blank

bool starts_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xc0u) != 0x80u;  // no UTF-8 continuation
}

std::string padded(const std::string& text, int width, Align align) {
  const std::string blanks(static_cast<std::size_t>(std::max(0, width - text_width(text))), ' ');
  return align == Align::kLeft ? text + blanks : blanks + text;
}

// Blanks at the end of a line show up in diffs and copies.
std::string trimmed(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

int total_width(const std::vector<int>& widths) {
  const auto shown =
      std::count_if(widths.begin(), widths.end(), [](int width) { return width > 0; });
  return kMargin + std::accumulate(widths.begin(), widths.end(), 0) +
         kGapWidth * std::max(0, static_cast<int>(shown) - 1);
}

int column_width(const GridColumn& column, std::size_t index, const std::vector<GridRow>& rows) {
  int widest = 0;
  for (const GridRow& row : rows) {
    if (index < row.cells.size()) widest = std::max(widest, text_width(row.cells[index]));
  }
  return widest == 0 ? 0 : std::max(widest, text_width(column.title));
}

// The shown column that goes first; columns.size() when none may go.
std::size_t first_to_drop(const GridLayout& layout) {
  std::size_t chosen = layout.columns.size();
  int rank = 0;
  for (std::size_t i = 0; i < layout.columns.size(); ++i) {
    if (layout.widths[i] > 0 && layout.columns[i].drop_rank > rank) {
      rank = layout.columns[i].drop_rank;
      chosen = i;
    }
  }
  return chosen;
}

// The cells of the shown columns, each as wide as its column.
std::string side_by_side(const GridLayout& layout, const std::vector<std::string>& cells) {
  std::string line;
  const char* gap = "";
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (layout.widths[i] == 0) continue;
    line += gap + padded(cells[i], layout.widths[i], layout.columns[i].align);
    gap = kGap;
  }
  return line;
}

std::string cells_line(const GridLayout& layout, const std::vector<std::string>& cells,
                       char marker) {
  return trimmed(std::string{marker, ' '} + side_by_side(layout, cells));
}

// Left-aligned columns for `rows`, which may have fewer cells than the longest.
GridLayout plain_layout(const std::vector<std::vector<std::string>>& rows) {
  GridLayout layout;
  for (const auto& row : rows) {
    layout.widths.resize(std::max(layout.widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) {
      layout.widths[i] = std::max(layout.widths[i], text_width(row[i]));
    }
  }
  layout.columns.resize(layout.widths.size(), {"", Align::kLeft});
  return layout;
}

// `text` cut to `width` characters, the cut shown by "...". What would be left of it in less than
// ten says nothing: then it stays whole.
std::string cut(const std::string& text, int width) {
  constexpr int kShortest = 10;
  if (width < kShortest || text_width(text) <= width) return text;
  std::size_t bytes = 0;
  for (int seen = 0; bytes < text.size(); ++bytes) {
    if (starts_character(text[bytes]) && seen++ == width - 3) break;
  }
  return text.substr(0, bytes) + "...";
}

}  // namespace

bool GridLayout::shows(std::string_view title) const {
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].title == title) return widths[i] > 0;
  }
  return false;
}

GridLayout fit_columns(std::vector<GridColumn> columns, const std::vector<GridRow>& rows,
                       int line_width) {
  GridLayout layout{std::move(columns), {}, line_width};
  for (std::size_t i = 0; i < layout.columns.size(); ++i) {
    layout.widths.push_back(column_width(layout.columns[i], i, rows));
  }
  while (total_width(layout.widths) > line_width) {
    const std::size_t column = first_to_drop(layout);
    if (column == layout.columns.size()) break;
    layout.widths[column] = 0;
  }
  return layout;
}

std::string header_line(const GridLayout& layout) {
  std::vector<std::string> titles;
  for (const GridColumn& column : layout.columns) titles.push_back(column.title);
  return cells_line(layout, titles, ' ');
}

std::string row_line(const GridLayout& layout, const GridRow& row) {
  if (row.message.empty()) return cells_line(layout, row.cells, row.marker);
  std::string line = {row.marker, ' '};
  line += padded(row.cells.at(0), layout.widths[0], layout.columns[0].align) + kGap;
  const int room = std::max(16, layout.line_width - text_width(line));
  return line + fitted(row.message, room);
}

std::string align_columns(std::vector<std::vector<std::string>> rows, int line_width) {
  for (auto& row : rows) std::transform(row.begin(), row.end(), row.begin(), printable);
  const GridLayout layout = plain_layout(rows);
  std::string text;
  for (std::vector<std::string>& row : rows) {
    int left_of_last = 0;
    for (std::size_t i = 0; i + 1 < row.size(); ++i) left_of_last += layout.widths[i] + kGapWidth;
    if (line_width > 0 && !row.empty()) row.back() = cut(row.back(), line_width - left_of_last);
    text += trimmed(side_by_side(layout, row)) + '\n';
  }
  return text;
}

std::string fitted(std::string_view text, int width) {
  constexpr std::size_t kLongest = 4096;
  std::string whole = escaped(text, kLongest);
  if (text_width(whole) <= width) return whole;
  return escaped(text, static_cast<std::size_t>(std::max(0, width - 3)));
}

int text_width(std::string_view text) {
  return static_cast<int>(std::count_if(text.begin(), text.end(), starts_character));
}

std::vector<std::string> wrapped(std::string_view text, int line_width, int indent) {
  const std::string margin(static_cast<std::size_t>(indent), ' ');
  std::vector<std::string> lines;
  std::string line = margin;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const bool is_first = line.size() == margin.size();
    if (!is_first && text_width(line) + 1 + text_width(word) > line_width) {
      lines.push_back(line);
      line = margin;
    }
    if (line.size() > margin.size()) line += ' ';
    line += word;
  }
  if (line.size() > margin.size()) lines.push_back(line);
  return lines;
}

}  // namespace nf4bench::text
