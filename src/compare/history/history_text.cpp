#include "base/text.hpp"
#include "compare/history/history.hpp"
#include "compare/result_text.hpp"
#include "text/layout.hpp"
#include "text/printers.hpp"
#include "text/units.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace nf4bench::compare {
namespace {

// A cell of a device.
struct Line {
  const CellKey& key;
  const HistorySeries& series;
  const HistoryDevice& device;
};

// "2026-03-01 1a2b3c4": when a run began and at which commit, or its name where neither is known.
std::string run_text(const HistoryRun& run) {
  std::string text = escaped(run.started_at.substr(0, 10), 10);
  if (!run.git_commit.empty()) text += fmt::format(" {}", escaped(run.git_commit.substr(0, 7), 7));
  return text.empty() ? escaped(run.name, 40) : text;
}

std::string steps_text(const Line& line, Metric metric) {
  std::vector<std::string> steps;
  for (const HistoryStep& step : line.series.steps) {
    steps.push_back(fmt::format("{} on {}",
                                text::format_change(shown_change(step.log_change, metric)),
                                run_text(line.device.runs[line.series.points[step.point].run])));
  }
  // Few points make no level of their own: they are told apart from steps.
  if (std::abs(line.series.last_log_change) > std::log1p(line.device.threshold)) {
    steps.push_back(
        fmt::format("last run {} off its level",
                    text::format_change(shown_change(line.series.last_log_change, metric))));
  }
  return fmt::format("{}", fmt::join(steps, "; "));
}

json::JsonText steps_json(const HistorySeries& series, Metric metric) {
  return json::json_array_of(series.steps, [&](const HistoryStep& step) {
    return json::json_object({{"run", series.points[step.point].run},
                              {"relative", shown_change(step.log_change, metric)},
                              {"slower", step.log_change > 0.0}});
  });
}

json::JsonText runs_json(const Line& line) {
  std::vector<std::int64_t> runs;
  runs.reserve(line.series.points.size());
  for (const HistoryPoint& point : line.series.points) {
    runs.push_back(static_cast<std::int64_t>(point.run));
  }
  return json::json_integers(runs);
}

json::JsonText values_json(const Line& line) {
  std::vector<double> values;
  values.reserve(line.series.points.size());
  for (const HistoryPoint& point : line.series.points) values.push_back(point.value);
  return json::json_numbers(values);
}

// Narrow terminals lose the count of runs first, then the first value.
text::Columns<Line> series_columns(Metric metric) {
  text::Columns<Line> all = key_columns_of<Line>();
  const text::Columns<Line> more = {
      {{.name = "runs", .rank = 3}, [](const Line& line) { return line.series.points.size(); }},
      {{.name = "first", .unit = unit_of(metric), .rank = 2},
       [](const Line& line) { return line.series.points.front().value; }},
      {{.name = "last", .unit = unit_of(metric)},
       [](const Line& line) { return line.series.points.back().value; }},
      {{.name = "change", .unit = text::Unit::kChange},
       [metric](const Line& line) {
         return shown_change(
             line.series.points.back().log_cost - line.series.points.front().log_cost, metric);
       }},
      {{.name = "steps"}, [metric](const Line& line) { return steps_text(line, metric); }},
      {{.key = "runs"}, runs_json},
      {{.key = "values"}, values_json},
      {{.key = "steps"}, [metric](const Line& line) { return steps_json(line.series, metric); }},
      {{.key = "last_off_level"},
       [metric](const Line& line) { return shown_change(line.series.last_log_change, metric); }}};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

text::Tone tone_of(const HistorySeries& series) {
  if (series.steps.empty()) return text::Tone::kPlain;
  return series.steps.back().log_change > 0.0 ? text::Tone::kBad : text::Tone::kGood;
}

// True where the cell has a step, or its last run is off its level.
bool has_changed(const HistorySeries& series, const HistoryDevice& device) {
  return !series.steps.empty() || std::abs(series.last_log_change) > std::log1p(device.threshold);
}

// The cells of a device: a section for each geometry and launch.
text::Sheet series_sheet(const HistoryDevice& device, Metric metric, Shown shown) {
  const text::Columns<Line> all = series_columns(metric);
  text::Sheet sheet = text::empty_sheet(all);
  const auto to_key = [](const HistorySeries& series) -> const CellKey& { return series.key; };
  for (const std::vector<std::size_t>& block : blocks_of(device.series, to_key)) {
    text::Section section = {.title = block_text(device.series[block.front()].key)};
    for (const std::size_t i : block) {
      const HistorySeries& series = device.series[i];
      if (shown == Shown::kChanged && !has_changed(series, device)) continue;
      section.rows.push_back(text::row_of(all, {series.key, series, device}));
      section.rows.back().tone = tone_of(series);
    }
    if (!section.rows.empty()) sheet.sections.push_back(std::move(section));
  }
  return sheet;
}

bool is_changed_section(const text::Section& section) {
  return std::ranges::any_of(section.rows,
                             [](const text::Row& row) { return row.tone != text::Tone::kPlain; });
}

// `name` says which device it is.
void append_device(text::Page& page, const HistoryDevice& device, const std::string& name,
                   Metric metric, Shown shown) {
  page.line(
      fmt::format("{}: {}, {} to {}", name, text::format_count(std::ssize(device.runs), "run"),
                  run_text(device.runs.front()), run_text(device.runs.back())),
      text::Tone::kHeading);
  const auto changed = std::ranges::count_if(
      device.series, [&](const HistorySeries& series) { return has_changed(series, device); });
  page.line(fmt::format("{} of {} changed", changed,
                        text::format_count(std::ssize(device.series), "cell")),
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
  text::Sheet sheet = series_sheet(device, metric, shown);
  std::stable_partition(sheet.sections.begin(), sheet.sections.end(), is_changed_section);
  page.table(sheet);
}

json::JsonText run_json(const HistoryRun& run) {
  return json::json_object({{"name", run.name},
                            {"started_at", json::json_string_or_null(run.started_at)},
                            {"git_commit", json::json_string_or_null(run.git_commit)},
                            {"complete", run.complete}});
}

json::JsonText device_json(const HistoryDevice& device, Metric metric) {
  return json::json_object(
      {{"name", device.device},
       {"key", device.id},
       {"unit", device.unit},
       {"threshold", device.threshold},
       {"run_noise",
        json::json_object({{"relative", device.noise.relative}, {"origin", device.noise.origin}})},
       {"runs", json::json_array_of(device.runs, run_json)},
       {"series", text::json_rows(series_sheet(device, metric, Shown::kAll))}});
}

}  // namespace

std::string history_table(const History& history, Shown shown, const text::Style& style) {
  text::Page page(style);
  for (std::size_t i = 0; i < history.devices.size(); ++i) {
    if (i > 0) page.blank();
    const HistoryDevice& device = history.devices[i];
    std::string name = text::fitted(device.device, 50);
    if (history.devices.size() > 1) name += " " + text::fitted(device.unit, 50);
    append_device(page, device, name, history.metric, shown);
  }
  return page.take();
}

std::string history_json(const History& history) {
  return json::json_object({{"schema", kHistorySchema},
                            {"schema_version", kHistorySchemaVersion},
                            {"metric", to_string(history.metric)},
                            {"devices", json::json_array_of(history.devices,
                                                            [&](const HistoryDevice& device) {
                                                              return device_json(device,
                                                                                 history.metric);
                                                            })}})
             .text +
         "\n";
}

}  // namespace nf4bench::compare
