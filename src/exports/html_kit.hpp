#pragma once

// What any page is made of. Reports come from strangers: every string of one goes through
// html_text().

#include <string>
#include <string_view>
#include <vector>

namespace nf4bench::exports {

// `text` as it may stand between tags and in quoted attributes. Bytes that are not UTF-8 and
// characters that a reader cannot see (controls, line breaks, changes of direction) become U+FFFD.
std::string html_text(std::string_view text);

// A coordinate: at most two decimals.
std::string coordinate(double value);

// Values from 0 in steps of 1, 2 or 5 times a power of ten, about `count` of them, the last one at
// or above `most`.
std::vector<double> round_ticks(double most, int count);

// Drawings are this wide, and a browser stretches them to the room there is. So they hold marks
// only: words stand beside them and keep their size on every screen.
constexpr double kDrawingWidth = 1000.0;

// A drawing of `height` units, which are pixels of a screen. The words beside it say the same.
std::string drawing(double height, const std::string& marks);

// A rule from top to bottom of a drawing of `height` units.
std::string upright(double x, double height, const char* style = "grid");

// A bar of a histogram or a ratio.
struct Bar {
  double x = 0.0;
  double y = 0.0;
  double width = 0.0;
  double height = 0.0;
};
std::string bar_of(const Bar& bar, const std::string& colour);

// A word at a share, from 0 to 1, of an axis.
struct AxisLabel {
  double share = 0.0;
  std::string text;
};

// The words below a drawing.
std::string axis(const std::vector<AxisLabel>& labels);

// The last line of a chart of lines.
std::string axis_line(const std::vector<AxisLabel>& labels);

// The anchor of a row in the table that a page ends with: "m12".
std::string anchor_of(std::size_t row);

// A page that needs nothing else. It may load nothing and run nothing but its own script, whatever
// `body` smuggles in.
struct HtmlDocument {
  std::string title;  // escaped
  std::string style;
  std::string body;
  bool has_script = true;  // kPageScript
};
std::string html_document(const HtmlDocument& document);

extern const char* const kPageStyle;
extern const char* const kPageScript;

}  // namespace nf4bench::exports
