#include "text/text_grid.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <numeric>

namespace nf4bench::text {
namespace {

constexpr char kGap[] = "  ";  // between columns
constexpr int kGapWidth = 2;
constexpr int kMargin = 2;  // the marker and a blank

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

}  // namespace nf4bench::text
