#include "exports/html_parts.hpp"
#include "report/table/parts.hpp"
#include "text/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace nf4bench::exports {
namespace {

constexpr int kMostSizes = 4;  // that find room on a narrow screen

// One chart: all rows of a type, cache and launch mode.
struct Chart {
  std::vector<std::size_t> rows;  // timed ones
  double least_elements = 0.0;
  double most_elements = 0.0;
  std::vector<double> ticks;  // bytes a second
};

record::Cell cell_of(const ExportRow& row) {
  return row.measurement->cell.over_all_tensors();
}

double elements_of(const Page& page, std::size_t row) {
  return static_cast<double>(page.rows[row].tensor->geometry.elements());
}

std::vector<Chart> charts_of(const Page& page) {
  std::vector<Chart> charts;
  for (std::size_t i = 0; i < page.rows.size(); ++i) {
    const ExportRow& row = page.rows[i];
    const bool has_point = row.is_timed && row.tensor != nullptr &&
                           row.measurement->cell.tokens == 0 &&
                           row.tensor->geometry.elements() > 0 && row.measurement->bytes_per_s;
    if (!has_point) continue;
    auto chart = std::find_if(charts.begin(), charts.end(), [&](const Chart& c) {
      return cell_of(page.rows[c.rows.front()]) == cell_of(row);
    });
    if (chart == charts.end()) chart = charts.insert(charts.end(), Chart{});
    chart->rows.push_back(i);
  }
  return charts;
}

void set_scales(Chart& chart, const Page& page) {
  double most = page.report.ceilings.copy_bytes_per_s;
  most = std::max(most, page.report.device.peak_bytes_per_s.value_or(0.0));
  chart.least_elements = elements_of(page, chart.rows.front());
  chart.most_elements = chart.least_elements;
  for (const std::size_t row : chart.rows) {
    chart.least_elements = std::min(chart.least_elements, elements_of(page, row));
    chart.most_elements = std::max(chart.most_elements, elements_of(page, row));
    most = std::max(most, *page.rows[row].measurement->bytes_per_s);
    if (page.rows[row].stream != nullptr) most = std::max(most, page.rows[row].stream->bytes_per_s);
  }
  chart.least_elements /= 1.5;
  chart.most_elements *= 1.5;
  chart.ticks = round_ticks(most, 6);
}

// From left to right, 0 to 1.
double share_of(const Chart& chart, double elements) {
  const double span = std::log(chart.most_elements / chart.least_elements);
  return std::log(elements / chart.least_elements) / span;
}

// From top to bottom, 0 to 1.
double depth_of(const Chart& chart, double rate) {
  return 1.0 - rate / chart.ticks.back();
}

// Powers of two, a few, evenly spaced; at least one, as a chart spans more than a factor of two.
std::vector<double> sizes_of(const Chart& chart) {
  std::vector<double> sizes;
  double step = 2.0;
  do {
    sizes.clear();
    for (double size = 1.0; size <= chart.most_elements; size *= step) {
      if (size >= chart.least_elements) sizes.push_back(size);
    }
    step *= 2.0;
  } while (std::ssize(sizes) > kMostSizes);
  return sizes;
}

// "0.25 Mi", "16 Mi", "1 Gi"
std::string elements_text(double elements) {
  const char* unit = "";
  for (const char* next : {"Ki", "Mi", "Gi"}) {
    if (elements < 1024.0) break;
    elements /= 1024.0;
    unit = next;
  }
  return fmt::format("{:.3g} {}", elements, unit);
}

std::string level(const Chart& chart, double rate, const char* style) {
  return fmt::format("<path class=\"{}\" d=\"M0 {}H{}\"/>", style,
                     coordinate(kChartHeight * depth_of(chart, rate)), coordinate(kDrawingWidth));
}

std::string grid_of(const Chart& chart, const std::vector<double>& sizes) {
  std::string text;
  for (const double tick : chart.ticks) text += level(chart, tick, "grid");
  for (const double size : sizes)
    text += upright(kDrawingWidth * share_of(chart, size), kChartHeight);
  return text;
}

using Words = std::vector<std::pair<double, std::string>>;

// Each at the height of its rate.
std::vector<SideWord> beside(const Chart& chart, const Words& words) {
  std::vector<SideWord> beside;
  for (const auto& [rate, word] : words) beside.push_back({depth_of(chart, rate), word});
  return beside;
}

Words ceilings_of(const Page& page) {
  Words words;
  for (const auto& [name, rate] :
       {std::pair("peak", page.report.device.peak_bytes_per_s.value_or(0.0)),
        std::pair("copy", page.report.ceilings.copy_bytes_per_s)}) {
    if (rate > 0.0)
      words.emplace_back(rate, fmt::format("{} {}", name, text::format_gigabytes(rate)));
  }
  return words;
}

ChartPoint point_of(const Page& page, const Chart& chart, std::size_t row) {
  const double rate = *page.rows[row].measurement->bytes_per_s;
  return {.share = share_of(chart, elements_of(page, row)),
          .depth = depth_of(chart, rate),
          .row = row,
          .note = text::format_gigabytes(rate) + " GB/s"};
}

std::string lines_of(const Page& page, const Chart& chart) {
  std::map<std::string, ChartPoints> lines;
  ChartPoints stream;
  for (const std::size_t row : chart.rows) {
    lines[page.rows[row].measurement->variant].push_back(point_of(page, chart, row));
    if (const record::StreamCeiling* ceiling = page.rows[row].stream) {
      stream.push_back({.share = share_of(chart, elements_of(page, row)),
                        .depth = depth_of(chart, ceiling->bytes_per_s)});
    }
  }
  const auto is_same = [](const ChartPoint& a, const ChartPoint& b) {
    return a.share == b.share && a.depth == b.depth;
  };
  std::ranges::sort(stream, {}, [](const ChartPoint& p) { return std::pair(p.share, -p.depth); });
  stream.erase(std::unique(stream.begin(), stream.end(), is_same), stream.end());
  return (stream.empty() ? "" : chart_path(stream, "stream")) + variant_lines(page, lines);
}

std::string figure_of(const Page& page, const Chart& chart) {
  const record::Measurement& first = *page.rows[chart.rows.front()].measurement;
  const std::vector<double> sizes = sizes_of(chart);
  const Words ceilings = ceilings_of(page);
  Words rates;
  for (const double tick : chart.ticks) rates.emplace_back(tick, fmt::format("{:g}", tick / 1e9));
  std::vector<AxisLabel> labels;
  labels.reserve(sizes.size());
  for (const double size : sizes) labels.push_back({share_of(chart, size), elements_text(size)});
  std::string marks = grid_of(chart, sizes);
  for (const auto& [rate, word] : ceilings) marks += level(chart, rate, "ceiling");
  return chart_figure(
      {.caption = report::cell_name(first.cell) + ": GB/s over the elements of the tensor",
       .left = beside(chart, rates),
       .right = beside(chart, ceilings),
       .marks = marks + lines_of(page, chart),
       .labels = labels});
}

}  // namespace

std::string bandwidth_section(const Page& page) {
  std::vector<Chart> charts = charts_of(page);
  if (charts.empty() && page.has_tokens()) return "";
  std::string text =
      "<section id=\"bandwidth\"><h2>Bandwidth over size</h2><p>Bytes that the format needs, read "
      "and written, over the median time. Copy is the device's own copy in this run.</p>\n";
  text += legend_of(page, !page.report.stream_ceilings.empty());
  for (Chart& chart : charts) {
    set_scales(chart, page);
    text += figure_of(page, chart);
  }
  return text + "</section>\n";
}

}  // namespace nf4bench::exports
