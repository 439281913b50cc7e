#include "exports/html_parts.hpp"
#include "text/units.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace nf4bench::exports {
namespace {

constexpr double kHeight = 22.0;
constexpr double kBarHeight = 14.0;

double x_of(double ratio, double most) {
  return kDrawingWidth * ratio / most;
}

std::string grid_of(const std::vector<double>& ticks) {
  std::string text;
  for (const double tick : ticks) text += upright(x_of(tick, ticks.back()), kHeight);
  return text + upright(x_of(1.0, ticks.back()), kHeight, "one");
}

// Too few samples have no interval.
std::string whisker_of(const std::optional<statistics::Interval>& ci, double most) {
  if (!ci) return "";
  constexpr double kMiddle = kHeight / 2.0;
  return fmt::format("<path class=\"whisker\" d=\"M{0} {2}V{3}M{0} {4}H{1}M{1} {2}V{3}\"/>",
                     coordinate(x_of(ci->low, most)), coordinate(x_of(ci->high, most)),
                     coordinate(kMiddle - 4.0), coordinate(kMiddle + 4.0), coordinate(kMiddle));
}

std::string line_of(const Page& page, std::size_t index, const std::vector<double>& ticks) {
  const record::Measurement& m = *page.rows[index].measurement;
  if (!page.rows[index].is_timed || !m.speedup) {
    const char* const why = page.rows[index].is_timed ? "no baseline" : to_string(m.status);
    return chart_line(page, index, drawing(kHeight, grid_of(ticks)), why);
  }
  const double most = ticks.back();
  const Bar bar = {.x = 0.0,
                   .y = (kHeight - kBarHeight) / 2.0,
                   .width = std::max(x_of(m.speedup->ratio, most), 1.0),
                   .height = kBarHeight};
  return chart_line(page, index,
                    drawing(kHeight, grid_of(ticks) + bar_of(bar, page.colour_of(m.variant)) +
                                         whisker_of(m.speedup->ci95, most)),
                    text::format_ratio(m.speedup->ratio));
}

std::string figure_of(const Page& page, const PageCell& cell, const std::vector<double>& ticks) {
  std::string text =
      fmt::format("<figure class=\"speedups\"><figcaption>{}</figcaption>\n", cell.title);
  for (const std::size_t row : cell.rows) text += line_of(page, row, ticks);
  std::vector<AxisLabel> labels;
  labels.reserve(ticks.size());
  for (const double tick : ticks) {
    labels.push_back({.share = tick / ticks.back(), .text = fmt::format("{:g}x", tick)});
  }
  return text + axis_line(labels) + "</figure>\n";
}

}  // namespace

std::string speedup_section(const Page& page) {
  double most = 1.0;
  for (const ExportRow& row : page.rows) {
    const auto& speedup = row.measurement->speedup;
    if (row.is_timed && speedup)
      most = std::max({most, speedup->ratio, speedup->ci95 ? speedup->ci95->high : 0.0});
  }
  const std::vector<double> ticks = round_ticks(most, 4);
  std::string text = fmt::format(
      "<section id=\"speedup\"><h2>Speedup</h2><p>Time of {} over the variant's, median and 95 % "
      "interval over paired rounds. All figures have the same scale; each bar leads to its "
      "row.</p>\n<div class=\"figures\">\n",
      html_text(report::baselines_of(page.report.settings)));
  for (const PageCell& cell : page.cells) text += figure_of(page, cell, ticks);
  return text + "</div></section>\n";
}

}  // namespace nf4bench::exports
