#pragma once

#include "base/terminal.hpp"
#include "text/layout.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nf4bench::text {

// Where a page is shown.
struct Style {
  int width = 100;  // columns of the terminal, 40 at least; 0: lines may be of any length
  bool colour = false;
};

// For what is to fill a terminal: lines stay whole where there is none, for grep, a file, a pager.
Style listing_style(const Terminal& terminal);

// For a report, which is as wide as a page where there is no terminal.
Style report_style(const Terminal& terminal);

// For a report on stdout.
Style table_style();

// Shows what `text_of` makes for a terminal: on stdout, or on stderr where that is taken.
void show_beside(bool stdout_is_taken, const std::function<std::string(const Style&)>& text_of);

// Collects the lines of a page for a terminal. What a terminal would act on is escaped in each, see
// printable().
class Page {
 public:
  explicit Page(const Style& style);

  void line(std::string_view text, Tone tone = Tone::kPlain);
  void blank() { text_ += '\n'; }

  // `text` wrapped to the page, continued after `indent` blanks.
  void paragraph(std::string_view text, int indent, Tone tone = Tone::kPlain);

  // `left` and, at the right edge of the page or on a line of its own, `right`.
  void heading(const std::string& left, const std::string& right = "");

  // The columns of all sections stand in line. Those that nothing is known of are left out, and on
  // a narrow terminal those of the highest ranks.
  void table(const Sheet& sheet);

  std::string take() { return std::move(text_); }

 private:
  void row(const Sheet& sheet, const Layout& layout, const Row& row,
           const std::vector<std::string>& texts);

  Style style_;
  std::string text_;
};

// A page of one table.
std::string terminal(const Sheet& sheet, const Style& style);

// `text` broken at blanks into lines of at most `line_width` columns, each after `indent` blanks.
std::vector<std::string> wrapped(std::string_view text, int line_width, int indent);

}  // namespace nf4bench::text
