#pragma once

#include "text/sheet.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace nf4bench::text {

// A sheet as text that fits a line.
struct Layout {
  std::vector<std::vector<std::vector<std::string>>> texts;  // of a section, a row, a column
  std::vector<int> widths;                                   // of the columns; 0: is not shown
  std::vector<bool> has_numbers;                             // they stand to the right
  int margin = 0;                                            // for marks, or below titles
  int line_width = 0;                                        // 0: of any length
  std::string legend;  // of the sheet, and what the shown columns mean

  // Where text goes on that stands beside the first `columns` columns.
  int end_of(std::size_t columns) const;
};

// Gives each column the width of its widest cell. Leaves out those of which nothing is known, and
// by rank what does not fit `line_width`; 0: all fit.
Layout lay_out(const Sheet& sheet, int line_width);

// `text` fit for a terminal, cut to `width` columns.
std::string fitted(std::string_view text, int width, Cut cut = Cut::kEnd);

// Columns that `text` takes on a terminal.
int text_width(std::string_view text);

}  // namespace nf4bench::text
