#include "base/text.hpp"
#include "compare/history/history_text.hpp"
#include "compare/result/change_text.hpp"
#include "report/table/parts.hpp"
#include "text/units.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <cstddef>

namespace nf4bench::compare {
namespace {

// Narrow terminals lose the count of runs first, then the first value.
std::vector<text::GridColumn> columns() {
  return {{"variant", text::Align::kLeft},
          {"runs", text::Align::kRight, 3},
          {"first", text::Align::kRight, 2},
          {"last"},
          {"change"},
          {"steps", text::Align::kLeft}};
}

std::string run_text(const HistoryRun& run) {
  std::string text = escaped(run.started_at.substr(0, 10), 10);
  if (!run.git_commit.empty()) text += fmt::format(" {}", escaped(run.git_commit.substr(0, 7), 7));
  return text.empty() ? escaped(run.name, 40) : text;
}

std::string steps_text(const HistoryDevice& device, const HistorySeries& series, Metric metric) {
  std::vector<std::string> steps;
  for (const HistoryStep& step : series.steps) {
    steps.push_back(fmt::format("{} on {}", percent_text(shown_change(step.log_change, metric)),
                                run_text(device.runs[series.points[step.point].run])));
  }
  // Few points make no level of their own: they are told apart from steps.
  if (std::abs(series.last_log_change) > std::log1p(device.threshold)) {
    steps.push_back(fmt::format("last run {} off its level",
                                percent_text(shown_change(series.last_log_change, metric))));
  }
  return fmt::format("{}", fmt::join(steps, "; "));
}

text::Tone tone_of(const HistorySeries& series) {
  if (series.steps.empty()) return text::Tone::kPlain;
  return series.steps.back().log_change > 0.0 ? text::Tone::kBad : text::Tone::kGood;
}

text::GridRow row_of(const HistoryDevice& device, const HistorySeries& series,
                     const ValueFormat& format) {
  const HistoryPoint& first = series.points.front();
  const HistoryPoint& last = series.points.back();
  text::GridRow row;
  row.tone = tone_of(series);
  row.cells = {report::shown_variant(series.key.variant),
               fmt::format("{}", series.points.size()),
               format.text(first.value),
               format.text(last.value),
               percent_text(shown_change(last.log_cost - first.log_cost, format.metric)),
               steps_text(device, series, format.metric)};
  return row;
}

void append_block(report::TablePage& page, const HistoryDevice& device,
                  const std::vector<const HistorySeries*>& block, Metric metric) {
  std::vector<double> values;
  for (const HistorySeries* series : block) {
    values.push_back(series->points.front().value);
    values.push_back(series->points.back().value);
  }
  const ValueFormat format = value_format(metric, values);
  std::vector<text::GridRow> rows;
  rows.reserve(block.size());
  for (const HistorySeries* series : block) rows.push_back(row_of(device, *series, format));
  const text::GridLayout layout = text::fit_columns(columns(), rows, page.width());
  page.blank();
  page.heading(block_text(block.front()->key), "");
  page.grid_header(layout);
  for (const text::GridRow& row : rows) page.grid_row(layout, row);
}

// The series of each geometry and launch, those blocks first in which a cell changed.
std::vector<std::vector<const HistorySeries*>> ordered_blocks(const HistoryDevice& device) {
  std::vector<std::vector<const HistorySeries*>> changed;
  std::vector<std::vector<const HistorySeries*>> steady;
  const auto to_key = [](const HistorySeries& series) -> const CellKey& { return series.key; };
  for (const std::vector<std::size_t>& indices : blocks_of(device.series, to_key)) {
    std::vector<const HistorySeries*> block;
    bool has_step = false;
    for (const std::size_t i : indices) {
      block.push_back(&device.series[i]);
      has_step = has_step || !device.series[i].steps.empty();
    }
    (has_step ? changed : steady).push_back(std::move(block));
  }
  changed.insert(changed.end(), steady.begin(), steady.end());
  return changed;
}

// `name` says which device it is.
void append_device(report::TablePage& page, const HistoryDevice& device, const std::string& name,
                   Metric metric) {
  page.line(fmt::format("{}: {}, {} to {}", name,
                        text::format_count(static_cast<long long>(device.runs.size()), "run"),
                        run_text(device.runs.front()), run_text(device.runs.back())),
            text::Tone::kHeading);
  page.paragraph(
      fmt::format("{}; steps of {} % or more that last for {} runs or more; "
                  "run-to-run noise {} % ({})",
                  to_string(metric), text::format_percent(device.threshold), kShortestLevel,
                  text::format_percent(device.noise.relative), device.noise.origin),
      0, text::Tone::kFaint);
  for (const HistoryRun& run : device.runs) {
    if (!run.complete)
      page.paragraph(fmt::format("incomplete: {}", escaped(run.name)), 2, text::Tone::kDoubt);
  }
  long long changed = 0;
  for (const auto& block : ordered_blocks(device)) append_block(page, device, block, metric);
  for (const HistorySeries& series : device.series) changed += series.steps.empty() ? 0 : 1;
  page.blank();
  page.line(fmt::format("{} of {} changed", changed,
                        text::format_count(static_cast<long long>(device.series.size()), "cell")),
            text::Tone::kHeading);
}

}  // namespace

std::string history_table(const History& history, const report::TableStyle& style) {
  report::TablePage page(style);
  for (std::size_t i = 0; i < history.devices.size(); ++i) {
    if (i > 0) page.blank();
    const HistoryDevice& device = history.devices[i];
    std::string name = text::fitted(device.device, 50);
    if (history.devices.size() > 1) name += " " + text::fitted(device.unit, 50);
    append_device(page, device, name, history.metric);
  }
  return page.take();
}

}  // namespace nf4bench::compare
