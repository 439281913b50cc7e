#include "exports/html_parts.hpp"
#include "record/sample_digest.hpp"
#include "text/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace nf4bench::exports {
namespace {

constexpr double kHeight = 46.0;
constexpr double kBottom = 43.0;   // the thick line needs room below
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
  return kDrawingWidth * (std::clamp(offset / reach, -1.0, 1.0) + 1.0) / 2.0;
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

std::string bars_of(const Histogram& histogram, const std::string& colour) {
  const std::size_t most = *std::max_element(histogram.counts.begin(), histogram.counts.end());
  constexpr double kStep = kDrawingWidth / static_cast<double>(kBins);
  std::string text;
  for (std::size_t bin = 0; bin < kBins; ++bin) {
    if (histogram.counts[bin] == 0) continue;
    const double height =
        (kBottom - 7.0) * static_cast<double>(histogram.counts[bin]) / static_cast<double>(most);
    text += bar_of({.x = kStep * static_cast<double>(bin),
                    .y = kBottom - height,
                    .width = 0.9 * kStep,
                    .height = height},
                   colour);
  }
  return text;
}

// Where the grid and the words below it stand, from the left end of the scale to the right one.
constexpr std::array kMarks = {-1.0, -0.5, 0.0, 0.5, 1.0};

std::string grid_of() {
  std::string text;
  for (const double mark : kMarks) text += upright(x_of(mark, 1.0), kHeight);
  return text;
}

std::vector<AxisLabel> labels_of(double reach) {
  std::vector<AxisLabel> labels;
  labels.reserve(std::size(kMarks));
  for (const double mark : kMarks) {
    labels.push_back(
        {.share = (mark + 1.0) / 2.0,
         .text = mark == 0.0 ? "median" : fmt::format("{:+.2g} %", 100.0 * mark * reach)});
  }
  return labels;
}

// The rule below the bars, and the thick line on it; too few samples have no interval.
std::string interval_of(const statistics::Summary& time, double reach) {
  std::string rule = fmt::format("<path class=\"base\" d=\"M0 {}H{}\"/>", coordinate(kBottom),
                                 coordinate(kDrawingWidth));
  if (!time.ci95) return rule;
  return rule + fmt::format("<path class=\"interval\" d=\"M{} {}H{}\"/>",
                            coordinate(x_of(time.ci95->low / time.median - 1.0, reach)),
                            coordinate(kBottom),
                            coordinate(x_of(time.ci95->high / time.median - 1.0, reach)));
}

std::string line_of(const Page& page, std::size_t index, double reach) {
  const record::Measurement& m = *page.rows[index].measurement;
  const statistics::Summary& time = *m.time_s;
  const Histogram histogram = histogram_of(m, reach);
  std::string note =
      fmt::format("{}, {}", text::format_time(time.median, text::time_scale({time.median})),
                  text::format_count(record::sample_count(m), "sample"));
  if (histogram.beyond > 0) note += fmt::format(", {} beyond", histogram.beyond);
  return chart_line(page, index,
                    drawing(kHeight, grid_of() + bars_of(histogram, page.colour_of(m.variant)) +
                                         interval_of(time, reach)),
                    note);
}

std::string figure_of(const Page& page, const PageCell& cell, std::size_t number) {
  std::vector<std::size_t> timed;
  for (const std::size_t row : cell.rows) {
    if (page.rows[row].is_timed && !page.rows[row].measurement->samples_s.empty()) {
      timed.push_back(row);
    }
  }
  const double reach = reach_of(page, cell);
  std::string text = fmt::format(
      "<figure class=\"samples\" id=\"c{}\"><figcaption>{}</figcaption>\n", number, cell.title);
  for (const std::size_t row : timed) text += line_of(page, row, reach);
  return text + axis_line(labels_of(reach)) + "</figure>\n";
}

}  // namespace

std::string samples_section(const Page& page) {
  const bool has_any = std::any_of(page.rows.begin(), page.rows.end(), [](const ExportRow& row) {
    return !row.measurement->samples_s.empty();
  });
  if (!has_any) {
    return "<section id=\"samples\"><h2>Samples</h2><p>The report was written without its samples "
           "(run --samples summary).</p></section>\n";
  }
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
