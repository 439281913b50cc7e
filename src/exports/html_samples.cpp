#include "exports/html_parts.hpp"
#include "text/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace nf4bench::exports {
namespace {

constexpr double kWidth = 900.0;
constexpr double kLeft = 170.0;
constexpr double kRight = 190.0;
constexpr double kStrip = 46.0;
constexpr double kAxis = 26.0;
constexpr std::size_t kBins = 61;  // odd: the median lies in the middle of one
constexpr double kLeastReach = 0.005;
constexpr double kMostReach = 0.5;

// How far samples lie from their median, relatively: the scale of a cell's figure.
double reach_of(const Page& page, const PageCell& cell) {
  double reach = kLeastReach;
  for (const std::size_t index : cell.rows) {
    const record::Measurement& m = *page.rows[index].measurement;
    if (!page.rows[index].is_timed) continue;
    const double median = m.time_s->median;
    reach = std::max(
        {reach, 1.4 * (m.time_s->p95 / median - 1.0), 1.4 * (1.0 - m.time_s->p05 / median)});
  }
  return std::min(reach, kMostReach);
}

double x_of(double offset, double reach) {
  return kLeft + (kWidth - kLeft - kRight) * (offset / reach + 1.0) / 2.0;
}

struct Histogram {
  std::array<std::size_t, kBins> counts{};
  std::size_t beyond = 0;
};

Histogram histogram_of(const record::Measurement& m, double reach) {
  Histogram histogram;
  for (const double sample : m.samples_s) {
    const double offset = sample / m.time_s->median - 1.0;
    if (!(std::abs(offset) <= reach)) {
      ++histogram.beyond;
      continue;
    }
    const double place = (offset / reach + 1.0) / 2.0 * static_cast<double>(kBins);
    ++histogram.counts[std::min(static_cast<std::size_t>(place), kBins - 1)];
  }
  return histogram;
}

std::string bars_of(const Histogram& histogram, const std::string& colour, double bottom) {
  const std::size_t most = *std::max_element(histogram.counts.begin(), histogram.counts.end());
  const double step = (kWidth - kLeft - kRight) / static_cast<double>(kBins);
  std::string text;
  for (std::size_t bin = 0; bin < kBins; ++bin) {
    if (histogram.counts[bin] == 0) continue;
    const double height =
        (kStrip - 10.0) * static_cast<double>(histogram.counts[bin]) / static_cast<double>(most);
    text += fmt::format("<rect class=\"bar {}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>",
                        colour, coordinate(kLeft + step * static_cast<double>(bin)),
                        coordinate(bottom - height), coordinate(step - 1.0), coordinate(height));
  }
  return text;
}

// The thick line; nothing where there were too few samples for an interval.
std::string interval_of(const statistics::Summary& time, double bottom, double reach) {
  if (!time.ci95) return "";
  const double low = std::max(time.ci95->low / time.median - 1.0, -reach);
  const double high = std::min(time.ci95->high / time.median - 1.0, reach);
  return fmt::format("<path class=\"interval\" d=\"M{} {}H{}\"/>", coordinate(x_of(low, reach)),
                     coordinate(bottom), coordinate(x_of(high, reach)));
}

std::string strip_of(const Page& page, std::size_t index, std::size_t line, double reach) {
  const record::Measurement& m = *page.rows[index].measurement;
  const double bottom = kStrip * static_cast<double>(line + 1);
  const statistics::Summary& time = *m.time_s;
  const Histogram histogram = histogram_of(m, reach);
  std::string text = fmt::format("<a href=\"#{}\"><text class=\"name\" x=\"{}\" y=\"{}\">{}</text>",
                                 anchor_of(index), coordinate(kLeft - 8.0),
                                 coordinate(bottom - 8.0), html_text(m.variant));
  text += bars_of(histogram, page.colour_of(m.variant), bottom);
  text += fmt::format("<path class=\"base\" d=\"M{} {}H{}\"/>", coordinate(kLeft),
                      coordinate(bottom), coordinate(kWidth - kRight));
  text += interval_of(time, bottom, reach);
  std::string note =
      fmt::format("{}, {}", text::format_time(time.median, text::time_scale({time.median})),
                  text::format_count(static_cast<long long>(m.samples_s.size()), "sample"));
  if (histogram.beyond > 0) note += fmt::format(", {} beyond", histogram.beyond);
  return text + fmt::format("<text class=\"note\" x=\"{}\" y=\"{}\">{}</text></a>\n",
                            coordinate(kWidth - kRight + 8.0), coordinate(bottom - 8.0), note);
}

std::string axis_of(double reach, double bottom) {
  std::string text;
  for (const double share : {-1.0, -0.5, 0.0, 0.5, 1.0}) {
    const std::string x = coordinate(x_of(share * reach, reach));
    const std::string label =
        share == 0.0 ? "median" : fmt::format("{:+.2g} %", 100.0 * share * reach);
    text += fmt::format(
        "<path class=\"grid\" d=\"M{0} 0V{1}\"/><text class=\"tick\" x=\"{0}\" y=\"{2}\">{3}"
        "</text>\n",
        x, coordinate(bottom), coordinate(bottom + 18.0), label);
  }
  return text;
}

std::string figure_of(const Page& page, const PageCell& cell, std::size_t number) {
  std::vector<std::size_t> timed;
  for (const std::size_t row : cell.rows) {
    if (page.rows[row].is_timed && !page.rows[row].measurement->samples_s.empty()) {
      timed.push_back(row);
    }
  }
  const double reach = reach_of(page, cell);
  const double bottom = kStrip * static_cast<double>(timed.size());
  std::string text = fmt::format(
      "<figure class=\"samples\" id=\"c{0}\"><figcaption>{1}</figcaption><svg viewBox=\"0 0 {2} "
      "{3}\" role=\"img\" aria-label=\"Samples of {1}\">\n",
      number, cell.title, coordinate(kWidth), coordinate(bottom + kAxis));
  text += axis_of(reach, bottom);
  for (std::size_t line = 0; line < timed.size(); ++line) {
    text += strip_of(page, timed[line], line, reach);
  }
  return text + "</svg></figure>\n";
}

}  // namespace

std::string samples_section(const Page& page) {
  std::string text =
      "<section id=\"samples\"><h2>Samples</h2><p>How the samples of each variant lie around their "
      "median; the thick line is the median's 95 % interval. <label class=\"choice\">Cell: <select "
      "id=\"cell\">";
  for (std::size_t i = 0; i < page.cells.size(); ++i) {
    text += fmt::format("<option value=\"c{}\">{}</option>", i, page.cells[i].title);
  }
  text += "</select></label></p>\n";
  for (std::size_t i = 0; i < page.cells.size(); ++i) text += figure_of(page, page.cells[i], i);
  return text + "</section>\n";
}

}  // namespace nf4bench::exports
