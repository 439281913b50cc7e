#include "exports/html_parts.hpp"
#include "text/units.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace nf4bench::exports {
namespace {

// Of a figure, in the units of its viewBox.
constexpr double kWidth = 520.0;
constexpr double kLeft = 150.0;  // of the names
constexpr double kRight = 60.0;  // of the numbers
constexpr double kLine = 22.0;
constexpr double kAxis = 26.0;
constexpr std::size_t kLongestName = 21;

double x_of(double ratio, double most) {
  return kLeft + (kWidth - kLeft - kRight) * ratio / most;
}

double middle_of(std::size_t line) {
  return kLine * (static_cast<double>(line) + 0.5) + 4.0;
}

std::string cut(const std::string& name) {
  if (name.size() <= kLongestName || !std::all_of(name.begin(), name.end(), [](char c) {
        return static_cast<unsigned char>(c) < 0x80;
      })) {
    return html_text(name);
  }
  return html_text(name.substr(0, kLongestName - 3)) + "...";
}

std::string bar_of(const Page& page, std::size_t index, std::size_t line, double most) {
  const record::Measurement& m = *page.rows[index].measurement;
  const double y = middle_of(line);
  std::string text = fmt::format(
      "<a href=\"#{}\"><title>{}</title><text class=\"name\" x=\"{}\" y=\"{}\">{}</text>",
      anchor_of(index), html_text(page.rows[index].name), coordinate(kLeft - 8.0),
      coordinate(y + 4.0), cut(m.variant));
  if (!page.rows[index].is_timed || !m.speedup) {
    return text + fmt::format("<text class=\"note\" x=\"{}\" y=\"{}\">{}</text></a>\n",
                              coordinate(kLeft + 6.0), coordinate(y + 4.0),
                              page.rows[index].is_timed ? "no baseline to compare with"
                                                        : to_string(m.status));
  }
  const double ratio = m.speedup->ratio;
  const statistics::Interval ci = m.speedup->ci95.value_or(statistics::Interval{ratio, ratio});
  const double end = x_of(ratio, most);
  text += fmt::format("<rect class=\"bar {}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"14\"/>",
                      page.colour_of(m.variant), coordinate(kLeft), coordinate(y - 7.0),
                      coordinate(std::max(end - kLeft, 0.5)));
  const std::string low = coordinate(x_of(ci.low, most));
  const std::string high = coordinate(x_of(ci.high, most));
  text += fmt::format("<path class=\"whisker\" d=\"M{0} {2}V{3}M{0} {4}H{1}M{1} {2}V{3}\"/>", low,
                      high, coordinate(y - 4.0), coordinate(y + 4.0), coordinate(y));
  return text + fmt::format("<text x=\"{}\" y=\"{}\">{}</text></a>\n",
                            coordinate(x_of(std::max(ci.high, ratio), most) + 6.0),
                            coordinate(y + 4.0), text::format_ratio(ratio));
}

std::string grid_of(std::size_t lines, const std::vector<double>& ticks) {
  const double bottom = kLine * static_cast<double>(lines) + 8.0;
  std::string text;
  for (const double tick : ticks) {
    const std::string x = coordinate(x_of(tick, ticks.back()));
    text += fmt::format(
        "<path class=\"grid\" d=\"M{0} 0V{1}\"/><text class=\"tick\" x=\"{0}\" y=\"{2}\">{3:g}x"
        "</text>\n",
        x, coordinate(bottom), coordinate(bottom + 15.0), tick);
  }
  const std::string one = coordinate(x_of(1.0, ticks.back()));
  return text + fmt::format("<path class=\"one\" d=\"M{} 0V{}\"/>\n", one, coordinate(bottom));
}

std::string figure_of(const Page& page, const PageCell& cell, const std::vector<double>& ticks) {
  const double height = kLine * static_cast<double>(cell.rows.size()) + kAxis;
  std::string text = fmt::format(
      "<figure><figcaption>{0}</figcaption><svg viewBox=\"0 0 {1} {2}\" role=\"img\" "
      "aria-label=\"Speedups of {0}\">\n",
      cell.title, coordinate(kWidth), coordinate(height));
  text += grid_of(cell.rows.size(), ticks);
  for (std::size_t line = 0; line < cell.rows.size(); ++line) {
    text += bar_of(page, cell.rows[line], line, ticks.back());
  }
  return text + "</svg></figure>\n";
}

}  // namespace

std::string speedup_section(const Page& page) {
  double most = 1.0;
  for (const ExportRow& row : page.rows) {
    const auto& speedup = row.measurement->speedup;
    if (row.is_timed && speedup) {
      const double high = speedup->ci95 ? speedup->ci95->high : speedup->ratio;
      most = std::max({most, speedup->ratio, high});
    }
  }
  const std::vector<double> ticks = round_ticks(most, 5);
  std::string text = fmt::format(
      "<section id=\"speedup\"><h2>Speedup</h2><p>Time of {} over the variant's, median and 95 % "
      "interval over paired rounds. All figures have the same scale; each bar leads to its "
      "row.</p>\n<div class=\"figures\">\n",
      html_text(page.report.settings.baseline));
  for (const PageCell& cell : page.cells) text += figure_of(page, cell, ticks);
  return text + "</div></section>\n";
}

}  // namespace nf4bench::exports
