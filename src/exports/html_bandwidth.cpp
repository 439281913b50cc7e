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

constexpr double kWidth = 900.0;
constexpr double kHeight = 400.0;
constexpr double kLeft = 60.0;
constexpr double kRight = 90.0;
constexpr double kTop = 12.0;
constexpr double kBottom = 46.0;

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

double x_of(const Chart& chart, double elements) {
  const double span = std::log(chart.most_elements / chart.least_elements);
  return kLeft + (kWidth - kLeft - kRight) * std::log(elements / chart.least_elements) / span;
}

double y_of(const Chart& chart, double rate) {
  return kTop + (kHeight - kTop - kBottom) * (1.0 - rate / chart.ticks.back());
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

std::string grid_of(const Chart& chart) {
  std::string text;
  const std::string right = coordinate(kWidth - kRight);
  for (const double tick : chart.ticks) {
    const double y = y_of(chart, tick);
    text += fmt::format(
        "<path class=\"grid\" d=\"M{} {}H{}\"/><text class=\"name\" x=\"{}\" y=\"{}\">{:g}</text>",
        coordinate(kLeft), coordinate(y), right, coordinate(kLeft - 6.0), coordinate(y + 4.0),
        tick / 1e9);
  }
  const double bottom = kHeight - kBottom;
  for (double size = 1.0; size <= chart.most_elements; size *= 4.0) {
    if (size < chart.least_elements) continue;
    const std::string x = coordinate(x_of(chart, size));
    text += fmt::format(
        "<path class=\"grid\" d=\"M{0} {1}V{2}\"/><text class=\"tick\" x=\"{0}\" y=\"{3}\">{4}"
        "</text>\n",
        x, coordinate(kTop), coordinate(bottom), coordinate(bottom + 16.0), elements_text(size));
  }
  return text + fmt::format(
                    "<text class=\"tick\" x=\"{}\" y=\"{}\">elements of the tensor</text>"
                    "<text x=\"4\" y=\"{}\">GB/s</text>\n",
                    coordinate((kLeft + kWidth - kRight) / 2.0), coordinate(kHeight - 6.0),
                    coordinate(kHeight - kBottom + 16.0));
}

std::string ceiling_line(const Chart& chart, const char* name, double rate) {
  if (!(rate > 0.0)) return "";
  const double y = y_of(chart, rate);
  return fmt::format(
      "<path class=\"ceiling\" d=\"M{} {}H{}\"/><text class=\"note\" x=\"{}\" y=\"{}\">{} {}"
      "</text>\n",
      coordinate(kLeft), coordinate(y), coordinate(kWidth - kRight),
      coordinate(kWidth - kRight + 4.0), coordinate(y + 4.0), name, text::format_gigabytes(rate));
}

using Points = std::vector<std::tuple<double, double, std::size_t>>;  // elements, rate, row

std::string path_of(const Chart& chart, const Points& points, const std::string& style) {
  std::string path;
  for (const auto& [elements, rate, row] : points) {
    path += fmt::format("{}{} {}", path.empty() ? 'M' : 'L', coordinate(x_of(chart, elements)),
                        coordinate(y_of(chart, rate)));
  }
  return fmt::format("<path class=\"line {}\" d=\"{}\"/>\n", style, path);
}

std::string variant_line(const Page& page, const Chart& chart, const std::string& variant,
                         const Points& points) {
  const std::string colour = page.colour_of(variant);
  std::string text = path_of(chart, points, colour);
  for (const auto& [elements, rate, row] : points) {
    text += fmt::format(
        "<a href=\"#{}\"><title>{}: {} GB/s</title><circle class=\"point {}\" cx=\"{}\" cy=\"{}\" "
        "r=\"4\"/></a>\n",
        anchor_of(row), html_text(page.rows[row].name), text::format_gigabytes(rate), colour,
        coordinate(x_of(chart, elements)), coordinate(y_of(chart, rate)));
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
  std::string text = fmt::format(
      "<figure><figcaption>{0}</figcaption><svg viewBox=\"0 0 {1} {2}\" role=\"img\" "
      "aria-label=\"Bandwidth over size, {0}\">\n",
      report::cell_name(first.cell), coordinate(kWidth), coordinate(kHeight));
  text += grid_of(chart);
  text += ceiling_line(chart, "peak", page.report.device.peak_bytes_per_s.value_or(0.0));
  text += ceiling_line(chart, "copy", page.report.ceilings.copy_bytes_per_s);
  return text + lines_of(page, chart) + "</svg></figure>\n";
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
