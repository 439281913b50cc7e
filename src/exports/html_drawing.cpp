#include "exports/html_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

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

std::string chart_path(const ChartPoints& points, const std::string& style) {
  std::string path;
  for (const ChartPoint& point : points) {
    path +=
        fmt::format("{}{} {}", path.empty() ? 'M' : 'L', coordinate(kDrawingWidth * point.share),
                    coordinate(kChartHeight * point.depth));
  }
  return fmt::format("<path class=\"rate {}\" d=\"{}\"/>\n", style, path);
}

std::string variant_lines(const Page& page, std::map<std::string, ChartPoints> lines) {
  std::string text;
  for (const std::string& variant : page.variants) {
    const auto found = lines.find(variant);
    if (found == lines.end()) continue;
    ChartPoints& points = found->second;
    std::ranges::sort(points, {}, [](const ChartPoint& p) { return std::pair(p.share, -p.depth); });
    const std::string colour = page.colour_of(variant);
    text += chart_path(points, colour);
    // A line of no length with round ends: a point that stays round when the drawing is stretched.
    for (const ChartPoint& point : points) {
      text += fmt::format(
          "<a href=\"#{}\"><title>{}: {}</title><path class=\"point {}\" d=\"M{} {}h0\"/></a>\n",
          anchor_of(point.row), html_text(page.rows[point.row].name), html_text(point.note), colour,
          coordinate(kDrawingWidth * point.share), coordinate(kChartHeight * point.depth));
    }
  }
  return text;
}

namespace {

// Words to one side of a drawing: `x` is where they begin or, on the left, end.
std::string words_beside(const char* style, const char* x, const std::vector<SideWord>& words) {
  std::string text = fmt::format("<svg class=\"{}\">", style);
  for (const SideWord& word : words) {
    text += fmt::format("<text x=\"{}\" y=\"{}%\" dy=\"4\">{}</text>", x,
                        coordinate(100.0 * word.depth), word.text);
  }
  return text + "</svg>";
}

}  // namespace

std::string chart_figure(const ChartParts& chart) {
  return fmt::format("<figure><figcaption>{}</figcaption><div class=\"chart\">\n", chart.caption) +
         words_beside("rates", "100%", chart.left) + drawing(kChartHeight, chart.marks) +
         words_beside("ceilings", "4", chart.right) + axis(chart.labels) + "</div></figure>\n";
}

std::string legend_of(const Page& page, bool has_stream) {
  std::string text = "<p class=\"legend\">";
  for (const std::string& variant : page.variants) {
    text += fmt::format("<span><i class=\"{}\"></i>{}</span> ", page.colour_of(variant),
                        html_text(variant));
  }
  if (has_stream) {
    text += "<span><i class=\"stream\"></i>best kernel that only moves the bytes</span>";
  }
  return text + "</p>\n";
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
