#include "cli/commands/run/device_results.hpp"

#include "compare/ratios.hpp"
#include "report/table/parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace nf4bench::cli {
namespace {

// The exit codes of a run, from the best to the worst.
constexpr std::array kCodes = {ExitCode::kOk,       ExitCode::kInconclusive,
                               ExitCode::kNoDevice, ExitCode::kVerificationFailed,
                               ExitCode::kBadInput, ExitCode::kUsage};

std::string temperature_text(const record::Report& report) {
  const auto& state = report.state_after ? *report.state_after : report.state_before;
  return state.temperature_c ? fmt::format("{:.0f} C", *state.temperature_c) : "";
}

std::string passed_text(const record::Report& report) {
  const auto passed = std::ranges::count(report.measurements, record::Status::kPassed,
                                         &record::Measurement::status);
  return fmt::format("{} of {}", passed, report.measurements.size());
}

text::GridRow result_row(const DeviceResult& result) {
  text::GridRow row;
  row.cells = {result.device, "", "", "", result.problem.empty() ? result.path : result.problem};
  if (!result.problem.empty()) row.tone = text::Tone::kBad;
  if (!result.report) return row;
  row.cells[1] = result.report->device.name;
  row.cells[2] = passed_text(*result.report);
  row.cells[3] = temperature_text(*result.report);
  return row;
}

std::string ratio_text(std::optional<double> ratio) {
  return ratio ? text::format_ratio(*ratio) : "";
}

text::GridRow together_row(const DeviceResult& together, const DeviceResult& alone) {
  text::GridRow row;
  row.cells = {together.device, "", "", "", "", "", ""};
  if (!together.report || !alone.report) {
    row.message = together.report ? "alone: " + alone.problem : together.problem;
    row.tone = text::Tone::kBad;
    return row;
  }
  const compare::TimeRatios ratios = compare::time_ratios(*alone.report, *together.report);
  if (ratios.cells == 0) {
    row.message = "no cell was measured both ways";
    return row;
  }
  row.cells = {together.device,
               together.report->device.name,
               ratio_text(ratios.mean),
               fmt::format("{} to {}", ratio_text(ratios.lowest), ratio_text(ratios.highest)),
               ratio_text(ratios.clock),
               temperature_text(*together.report),
               temperature_text(*alone.report)};
  return row;
}

std::string grid(std::vector<text::GridColumn> columns, const std::vector<text::GridRow>& rows,
                 const report::TableStyle& style) {
  report::TablePage page(style);
  const text::GridLayout layout = text::fit_columns(std::move(columns), rows, style.width);
  page.grid_header(layout);
  for (const text::GridRow& row : rows) page.grid_row(layout, row);
  return page.take();
}

}  // namespace

ExitCode code_of(const ChildOutcome& outcome) {
  const auto code = static_cast<ExitCode>(outcome.exit_code);
  return std::ranges::find(kCodes, code) == kCodes.end() ? ExitCode::kNoDevice : code;
}

ExitCode worst_of(const std::vector<DeviceResult>& results) {
  const auto rank = [](ExitCode code) { return std::ranges::find(kCodes, code); };
  ExitCode worst = ExitCode::kOk;
  for (const DeviceResult& each : results) {
    if (rank(each.code) > rank(worst)) worst = each.code;
  }
  return worst;
}

std::string results_table(const std::vector<DeviceResult>& results,
                          const report::TableStyle& style) {
  std::vector<text::GridRow> rows;
  rows.reserve(results.size());
  for (const DeviceResult& each : results) rows.push_back(result_row(each));
  return grid({{.title = "device", .align = text::Align::kLeft},
               {.title = "GPU", .align = text::Align::kLeft, .drop_rank = 2},
               {.title = "passed"},
               {.title = "heat", .drop_rank = 1},
               {.title = "report", .align = text::Align::kLeft}},
              rows, style);
}

std::string together_table(const std::vector<DeviceResult>& together,
                           const std::vector<DeviceResult>& alone,
                           const report::TableStyle& style) {
  std::vector<text::GridRow> rows;
  for (std::size_t i = 0; i < together.size(); ++i) {
    rows.push_back(together_row(together[i], alone[i]));
  }
  return "Together over alone: time of a call (geometric mean of the cells, their range), SM "
         "clock;\n"
         "temperature after either:\n" +
         grid({{.title = "device", .align = text::Align::kLeft},
               {.title = "GPU", .align = text::Align::kLeft, .drop_rank = 2},
               {.title = "ratio"},
               {.title = "range"},
               {.title = "clock", .drop_rank = 1},
               {.title = "together", .drop_rank = 3},
               {.title = "alone", .drop_rank = 3}},
              rows, style);
}

}  // namespace nf4bench::cli
