#include "cli/commands/run/device_results.hpp"

#include "compare/ratios.hpp"
#include "text/page.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace nf4bench::cli {
namespace {

using bench::DeviceResult;

text::Value temperature_of(const record::Report& report) {
  return (report.state_after ? *report.state_after : report.state_before).temperature_c;
}

// What a report says; nothing where there is none.
template <typename Function>
auto of_report(Function&& function) {
  return [function](const DeviceResult& result) {
    return result.report ? text::Value(function(*result.report)) : text::Value();
  };
}

std::string passed_text(const record::Report& report) {
  const auto passed = std::ranges::count(report.measurements, record::Status::kPassed,
                                         &record::Measurement::status);
  return fmt::format("{} of {}", passed, report.measurements.size());
}

text::Columns<DeviceResult> result_columns() {
  return {{{"device"}, [](const DeviceResult& each) { return each.device; }},
          {{.name = "GPU", .rank = 2},
           of_report([](const record::Report& report) { return report.device.name; })},
          {{"passed"}, of_report(passed_text)},
          {{.name = "heat", .unit = text::Unit::kCelsius, .rank = 1}, of_report(temperature_of)},
          {{.name = "report", .least = 20}, [](const DeviceResult& each) {
             return each.problem.empty() ? each.path : each.problem;
           }}};
}

// A device that was measured with others and alone.
struct BothWays {
  const DeviceResult& together;
  const DeviceResult& alone;
  compare::TimeRatios ratios{};
};

text::Columns<BothWays> together_columns() {
  using text::Unit;
  return {{{"device"}, [](const BothWays& each) { return each.together.device; }},
          {{.name = "GPU", .rank = 2},
           [](const BothWays& each) { return each.together.report->device.name; }},
          {{"ratio", Unit::kRatio}, [](const BothWays& each) { return each.ratios.mean; }},
          {{"range", Unit::kRatio},
           [](const BothWays& each) {
             return statistics::Interval{each.ratios.lowest, each.ratios.highest};
           }},
          {{"clock", Unit::kRatio, 1}, [](const BothWays& each) { return each.ratios.clock; }},
          {{"together", Unit::kCelsius, 3},
           [](const BothWays& each) { return temperature_of(*each.together.report); }},
          {{"alone", Unit::kCelsius, 3},
           [](const BothWays& each) { return temperature_of(*each.alone.report); }}};
}

text::Row together_row(const DeviceResult& together, const DeviceResult& alone) {
  text::Row row = {.cells = {together.device}, .tone = text::Tone::kBad};
  if (!together.report || !alone.report) {
    row.message = together.report ? "alone: " + alone.problem : together.problem;
    return row;
  }
  const BothWays both = {together, alone, compare::time_ratios(*alone.report, *together.report)};
  if (both.ratios.cells > 0) return row_of(together_columns(), both);
  row.message = "no cell was measured both ways";
  return row;
}

}  // namespace

std::string results_table(const std::vector<DeviceResult>& results, const text::Style& style) {
  text::Sheet sheet = text::sheet_of(result_columns(), results);
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!results[i].problem.empty()) sheet.sections[0].rows[i].tone = text::Tone::kBad;
  }
  return text::terminal(sheet, style);
}

std::string together_table(const std::vector<DeviceResult>& together,
                           const std::vector<DeviceResult>& alone, const text::Style& style) {
  text::Sheet sheet = empty_sheet(together_columns());
  text::Section& section = sheet.sections.emplace_back();
  section.title =
      "Together over alone: time of a call (geometric mean of the cells, their range), SM clock; "
      "temperature after either";
  for (std::size_t i = 0; i < together.size(); ++i) {
    section.rows.push_back(together_row(together[i], alone[i]));
  }
  return text::terminal(sheet, style);
}

}  // namespace nf4bench::cli
