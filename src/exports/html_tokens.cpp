#include "exports/html_parts.hpp"
#include "report/crossover.hpp"
#include "report/table/parts.hpp"
#include "text/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

namespace nf4bench::exports {
namespace {

constexpr double kMicroseconds = 1e6;  // a second

// What is drawn over tokens.
struct Quantity {
  const char* caption;
  std::optional<double> (*value_of)(const record::Measurement& m);
  std::string (*text_of)(double value);
  bool is_logarithmic;
};

constexpr Quantity kTime = {.caption = "microseconds a call over tokens",
                            .value_of = [](const record::Measurement& m) -> std::optional<double> {
                              return kMicroseconds * m.time_s->median;
                            },
                            .text_of = [](double value) { return fmt::format("{:.3g} us", value); },
                            .is_logarithmic = true};

constexpr Quantity kRoof = {
    .caption = "per cent of the speed that memory and arithmetic allow, over tokens",
    .value_of = [](const record::Measurement& m) -> std::optional<double> {
      return m.roof ? std::optional(100.0 * m.roof->fraction) : std::nullopt;
    },
    .text_of = [](double value) { return fmt::format("{:.1f} %", value); },
    .is_logarithmic = false};

// The rows of one tensor, type and mode that have a quantity, and the scales that hold them.
struct Chart {
  const Quantity* quantity = nullptr;
  std::string title;  // escaped
  std::vector<std::size_t> rows;
  std::set<std::int64_t> tokens;
  std::vector<double> ticks;
};

std::vector<Chart> charts_of(const Page& page, const Quantity& quantity) {
  std::vector<Chart> charts;
  const auto cell_of = [&](std::size_t row) {
    return page.rows[row].measurement->cell.over_all_tokens();
  };
  for (std::size_t i = 0; i < page.rows.size(); ++i) {
    const ExportRow& row = page.rows[i];
    const record::Measurement& m = *row.measurement;
    if (m.cell.tokens == 0 || !row.is_timed || !quantity.value_of(m)) continue;
    auto chart = std::ranges::find_if(
        charts, [&](const Chart& c) { return cell_of(c.rows.front()) == cell_of(i); });
    if (chart == charts.end()) {
      const std::string title =
          html_text(shape_name(row)) + "  " + report::cell_name(m.cell.over_all_tokens());
      chart = charts.insert(charts.end(), Chart{&quantity, title, {}, {}, {}});
    }
    chart->rows.push_back(i);
    chart->tokens.insert(m.cell.tokens);
  }
  std::erase_if(charts, [](const Chart& chart) { return chart.tokens.size() < 2; });
  return charts;
}

// 1, 2 and 5 times powers of ten, from at or below `least` to at or above `most`.
std::vector<double> logarithmic_ticks(double least, double most) {
  std::vector<double> ticks;
  for (double power = std::pow(10.0, std::floor(std::log10(least))); power <= 10.0 * most;
       power *= 10.0) {
    for (const double factor : {1.0, 2.0, 5.0}) ticks.push_back(factor * power);
  }
  while (ticks.size() > 2 && ticks[1] <= least) ticks.erase(ticks.begin());
  while (ticks.size() > 2 && ticks[ticks.size() - 2] >= most) ticks.pop_back();
  return ticks;
}

void set_scale(Chart& chart, const Page& page) {
  const auto value = [&](std::size_t row) {
    return *chart.quantity->value_of(*page.rows[row].measurement);
  };
  double least = value(chart.rows.front());
  double most = least;
  for (const std::size_t row : chart.rows) {
    least = std::min(least, value(row));
    most = std::max(most, value(row));
  }
  chart.ticks = chart.quantity->is_logarithmic ? logarithmic_ticks(least, most)
                                               : round_ticks(std::max(most, 100.0), 5);
}

double share_of(const Chart& chart, std::int64_t tokens) {
  const auto least = static_cast<double>(*chart.tokens.begin());
  const auto most = static_cast<double>(*chart.tokens.rbegin());
  constexpr double kMargin = 0.03;
  const double share = std::log(static_cast<double>(tokens) / least) / std::log(most / least);
  return kMargin + (1.0 - 2.0 * kMargin) * share;
}

double depth_of(const Chart& chart, double value) {
  const double most = chart.ticks.back();
  if (!chart.quantity->is_logarithmic) return 1.0 - value / most;
  return 1.0 - std::log(value / chart.ticks.front()) / std::log(most / chart.ticks.front());
}

// Those numbers of tokens that have room for a word.
std::vector<AxisLabel> labels_of(const Chart& chart) {
  constexpr double kRoom = 0.07;
  std::vector<AxisLabel> labels;
  for (const std::int64_t tokens : chart.tokens) {
    const double share = share_of(chart, tokens);
    if (!labels.empty() && share - labels.back().share < kRoom) continue;
    labels.push_back({share, fmt::format("{}", tokens)});
  }
  return labels;
}

std::string figure_of(const Page& page, const Chart& chart) {
  ChartParts parts = {.caption = chart.title + ": " + chart.quantity->caption,
                      .left = {},
                      .right = {},
                      .marks = "",
                      .labels = labels_of(chart)};
  for (const double tick : chart.ticks) {
    const double depth = depth_of(chart, tick);
    parts.left.push_back({depth, fmt::format("{:g}", tick)});
    parts.marks += fmt::format("<path class=\"grid\" d=\"M0 {}H{}\"/>",
                               coordinate(kChartHeight * depth), coordinate(kDrawingWidth));
  }
  for (const AxisLabel& label : parts.labels) {
    parts.marks += upright(kDrawingWidth * label.share, kChartHeight);
  }
  std::map<std::string, ChartPoints> lines;
  for (const std::size_t row : chart.rows) {
    const record::Measurement& m = *page.rows[row].measurement;
    const double value = *chart.quantity->value_of(m);
    lines[m.variant].push_back({.share = share_of(chart, m.cell.tokens),
                                .depth = depth_of(chart, value),
                                .row = row,
                                .note = chart.quantity->text_of(value)});
  }
  parts.marks += variant_lines(page, std::move(lines));
  return chart_figure(parts);
}

std::string figures_of(const Page& page, const Quantity& quantity) {
  std::string text;
  for (Chart& chart : charts_of(page, quantity)) {
    set_scale(chart, page);
    text += figure_of(page, chart);
  }
  return text;
}

// Which variant is the fastest with how many tokens.
std::string crossovers_of(const Page& page) {
  std::string text;
  for (const report::Crossover& each : report::find_crossovers(page.report)) {
    const auto row = std::ranges::find_if(page.rows, [&](const ExportRow& candidate) {
      return candidate.measurement->cell.over_all_tokens() == each.cell;
    });
    text += fmt::format("<li>{}  {}: {}</li>\n", html_text(shape_name(*row)),
                        report::cell_name(each.cell), html_text(report::stretches_text(each)));
  }
  return text.empty() ? "" : "<p>Fastest by tokens:</p>\n<ul>" + text + "</ul>\n";
}

}  // namespace

std::string tokens_section(const Page& page) {
  const std::string figures = figures_of(page, kTime) + figures_of(page, kRoof);
  const std::string crossovers = crossovers_of(page);
  if (figures.empty() && crossovers.empty()) return "";
  return "<section id=\"tokens\"><h2>Time and roof over tokens</h2><p>The roof is the greater of "
         "bytes over the rate of the device's own copy and flops over that of a large matrix "
         "product.</p>\n" +
         legend_of(page, false) + crossovers + figures + "</section>\n";
}

}  // namespace nf4bench::exports
