#include "exports/html_parts.hpp"
#include "report/table/parts.hpp"
#include "text/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace nf4bench::exports {
namespace {

constexpr double kHeight = 400.0;
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
                     coordinate(kHeight * depth_of(chart, rate)), coordinate(kDrawingWidth));
}

std::string grid_of(const Chart& chart, const std::vector<double>& sizes) {
  std::string text;
  for (const double tick : chart.ticks) text += level(chart, tick, "grid");
  for (const double size : sizes) text += upright(kDrawingWidth * share_of(chart, size), kHeight);
  return text;
}

// Words beside the drawing, each at the height of its rate.
struct Scale {
  const char* style;
  const char* x;
};
constexpr Scale kRates = {.style = "rates", .x = "100%"};
constexpr Scale kCeilings = {.style = "ceilings", .x = "4"};

using Words = std::vector<std::pair<double, std::string>>;

std::string scale_of(const Chart& chart, const Scale& scale, const Words& words) {
  std::string text = fmt::format("<svg class=\"{}\">", scale.style);
  for (const auto& [rate, word] : words) {
    text += fmt::format("<text x=\"{}\" y=\"{}%\" dy=\"4\">{}</text>", scale.x,
                        coordinate(100.0 * depth_of(chart, rate)), word);
  }
  return text + "</svg>";
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

using Points = std::vector<std::tuple<double, double, std::size_t>>;  // elements, rate, row

std::string path_of(const Chart& chart, const Points& points, const std::string& style) {
  std::string path;
  for (const auto& [elements, rate, row] : points) {
    path += fmt::format("{}{} {}", path.empty() ? 'M' : 'L',
                        coordinate(kDrawingWidth * share_of(chart, elements)),
                        coordinate(kHeight * depth_of(chart, rate)));
  }
  return fmt::format("<path class=\"rate {}\" d=\"{}\"/>\n", style, path);
}

std::string variant_line(const Page& page, const Chart& chart, const std::string& variant,
                         const Points& points) {
  const std::string colour = page.colour_of(variant);
  std::string text = path_of(chart, points, colour);
  // A line of no length with round ends: a point that stays round when the drawing is stretched.
  for (const auto& [elements, rate, row] : points) {
    text += fmt::format(
        "<a href=\"#{}\"><title>{}: {} GB/s</title><path class=\"point {}\" d=\"M{} {}h0\"/></a>\n",
        anchor_of(row), html_text(page.rows[row].name), text::format_gigabytes(rate), colour,
        coordinate(kDrawingWidth * share_of(chart, elements)),
        coordinate(kHeight * depth_of(chart, rate)));
  }
  return text;
}

std::string lines_of(const Page& page, const Chart& chart) {
  std::map<std::string, Points> lines;
  Points stream;
  for (const std::size_t row : chart.rows) {
    const record::Measurement& m = *page.rows[row].measurement;
    lines[m.variant].emplace_back(elements_of(page, row), *m.bytes_per_s, row);
    if (const record::StreamCeiling* ceiling = page.rows[row].stream) {
      stream.emplace_back(elements_of(page, row), ceiling->bytes_per_s, 0);
    }
  }
  std::sort(stream.begin(), stream.end());
  stream.erase(std::unique(stream.begin(), stream.end()), stream.end());
  std::string text = stream.empty() ? "" : path_of(chart, stream, "stream");
  for (const std::string& variant : page.variants) {
    const auto found = lines.find(variant);
    if (found == lines.end()) continue;
    std::sort(found->second.begin(), found->second.end());
    text += variant_line(page, chart, variant, found->second);
  }
  return text;
}

std::string legend_of(const Page& page) {
  std::string text = "<p class=\"legend\">";
  for (const std::string& variant : page.variants) {
    text += fmt::format("<span><i class=\"{}\"></i>{}</span> ", page.colour_of(variant),
                        html_text(variant));
  }
  if (!page.report.stream_ceilings.empty()) {
    text += "<span><i class=\"stream\"></i>best kernel that only moves the bytes</span>";
  }
  return text + "</p>\n";
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
  return fmt::format(
             "<figure><figcaption>{}: GB/s over the elements of the tensor</figcaption>"
             "<div class=\"chart\">\n",
             report::cell_name(first.cell)) +
         scale_of(chart, kRates, rates) + drawing(kHeight, marks + lines_of(page, chart)) +
         scale_of(chart, kCeilings, ceilings) + axis(labels) + "</div></figure>\n";
}

}  // namespace

std::string bandwidth_section(const Page& page) {
  std::string text =
      "<section id=\"bandwidth\"><h2>Bandwidth over size</h2><p>Bytes that the format needs, read "
      "and written, over the median time. Copy is the device's own copy in this run.</p>\n";
  text += legend_of(page);
  for (Chart& chart : charts_of(page)) {
    set_scales(chart, page);
    text += figure_of(page, chart);
  }
  return text + "</section>\n";
}

}  // namespace nf4bench::exports
