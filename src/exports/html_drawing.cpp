#include "exports/html_parts.hpp"

#include <fmt/format.h>

namespace nf4bench::exports {

std::string drawing(double height, const std::string& marks) {
  return fmt::format(
      "<svg class=\"drawing\" viewBox=\"0 0 {} {}\" preserveAspectRatio=\"none\">{}</svg>",
      coordinate(kDrawingWidth), coordinate(height), marks);
}

std::string upright(double x, double height, const char* style) {
  return fmt::format("<path class=\"{}\" d=\"M{} 0V{}\"/>", style, coordinate(x),
                     coordinate(height));
}

std::string bar_of(const Bar& bar, const std::string& colour) {
  return fmt::format("<rect class=\"bar {}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>",
                     colour, coordinate(bar.x), coordinate(bar.y), coordinate(bar.width),
                     coordinate(bar.height));
}

std::string axis(const std::vector<AxisLabel>& labels) {
  std::string text = "<svg class=\"axis\">";
  for (const AxisLabel& label : labels) {
    // At the ends, words that stand in the middle of their mark would leave the drawing.
    const char* const place = label.share <= 0.0 ? "first" : label.share >= 1.0 ? "last" : "tick";
    text += fmt::format("<text class=\"{}\" x=\"{}%\" y=\"14\">{}</text>", place,
                        coordinate(100.0 * label.share), label.text);
  }
  return text + "</svg>";
}

std::string chart_line(const Page& page, std::size_t row, const std::string& drawn,
                       const std::string& note) {
  return fmt::format(
      "<a class=\"line\" href=\"#{}\" title=\"{}\"><span class=\"name\">{}</span>{}<span "
      "class=\"note\">{}</span></a>\n",
      anchor_of(row), html_text(page.rows[row].name),
      html_text(page.rows[row].measurement->variant), drawn, note);
}

std::string axis_line(const std::vector<AxisLabel>& labels) {
  return "<div class=\"line\"><span class=\"name\"></span>" + axis(labels) +
         "<span class=\"note\"></span></div>";
}

}  // namespace nf4bench::exports
