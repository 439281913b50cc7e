#pragma once

#include "text/page.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace nf4bench::text {

enum class Align : std::uint8_t { kLeft, kRight };

struct GridColumn {
  std::string title;
  Align align = Align::kRight;
  int drop_rank = 0;  // 0: never dropped; else the column of the highest rank goes first
};

struct GridRow {
  std::vector<std::string> cells;  // one for each column; empty: not known
  char marker = ' ';               // in the margin
  Tone tone = Tone::kPlain;
  std::string message;  // in place of all cells but the first
};

// Columns of text that fit a terminal.
struct GridLayout {
  std::vector<GridColumn> columns;
  std::vector<int> widths;  // 0: the column is not shown
  int line_width = 0;       // of the terminal

  bool shows(std::string_view title) const;
};

// Gives each column the width of its widest cell, leaves out those that have no value in any row,
// and drops columns by rank until a line fits `line_width`.
GridLayout fit_columns(std::vector<GridColumn> columns, const std::vector<GridRow>& rows,
                       int line_width);

std::string header_line(const GridLayout& layout);

// One line, no newline; a message that does not fit ends in "...".
std::string row_line(const GridLayout& layout, const GridRow& row);

}  // namespace nf4bench::text
