#include "base/output_target.hpp"
#include "base/signals.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "bench/device_runs.hpp"
#include "compare/compare_reports.hpp"
#include "device/devices.hpp"
#include "report/tables.hpp"
#include "text/page.hpp"
#include "text/progress.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace nf4bench::bench {
namespace {

namespace fs = std::filesystem;

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
  return {{{"device"}, &DeviceResult::device},
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

// How the devices are measured.
struct Round {
  std::string folder;  // of the reports, with "/" at its end; empty: they are not kept
  bool at_once = true;
  const char* word = "";  // in names of devices
};

// A run on several devices.
class SeveralDevices {
 public:
  explicit SeveralDevices(const record::RunOptions& options)
      : options_(options), indices_(device::several_devices(options.device)) {}

  ExitCode run();

 private:
  ExitCode show_dry_run();
  ExitCode measure_both_ways();
  std::vector<DeviceResult> measure(const Round& round);
  DeviceRuns devices(const Round& round) const;
  std::vector<std::string> names(const char* word) const;
  void show(const std::string& text) const;
  ExitCode code_of_all(const std::vector<DeviceResult>& results) const;

  const record::RunOptions& options_;
  std::vector<int> indices_;
  const std::atomic<bool>& interrupted_ = watch_for_interruption();
};

// Several reports need a folder, which is made.
std::string report_folder(const std::string& path) {
  std::error_code error;
  if (path == "-" || (fs::exists(path, error) && !fs::is_directory(path, error))) {
    throw Error(ErrorKind::kUsage,
                "--json: \"{}\" cannot hold a report of each device; name a folder", escaped(path));
  }
  make_folder("--json", path);
  return path.ends_with('/') ? path : path + "/";
}

std::string folder_in(const std::string& folder, const char* name) {
  return folder.empty() ? "" : report_folder(folder + name);
}

std::vector<std::string> SeveralDevices::names(const char* word) const {
  std::vector<std::string> all;
  for (const int index : indices_) all.push_back(device_name(index) + word);
  return all;
}

std::vector<DeviceResult> SeveralDevices::measure(const Round& round) {
  text::ProgressBoard board(
      names(round.word), options_.quiet ? text::ProgressMode::kSilent : text::ProgressMode::kAuto);
  std::vector<DeviceResult> results = measure_devices(
      devices(round),
      [&board](std::size_t index, std::string_view bytes) { board.take(index, bytes); });
  board.clear();
  for (std::size_t i = 0; i < results.size(); ++i) {
    DeviceResult& each = results[i];
    if (each.code != ExitCode::kOk && each.problem.empty()) each.problem = board.last_line(i);
    if (!each.was_silent) continue;
    write_stderr(fmt::format("{}: {}: its process was ended (--device-timeout sets the limit)\n",
                             each.device, each.problem));
  }
  return results;
}

DeviceRuns SeveralDevices::devices(const Round& round) const {
  return {options_, indices_, interrupted_, round.folder, round.at_once};
}

void SeveralDevices::show(const std::string& text) const {
  if (!options_.quiet) write_stdout(text);
}

ExitCode SeveralDevices::code_of_all(const std::vector<DeviceResult>& results) const {
  return interruption().value_or(worst_of(results));
}

ExitCode SeveralDevices::show_dry_run() {
  text::ProgressBoard board(names(""), text::ProgressMode::kSilent);
  std::vector<DeviceResult> results;
  const auto tell = [&board](std::size_t index, std::string_view bytes) {
    board.take(index, bytes);
  };
  for (const ChildOutcome& outcome : run_devices(devices({.folder = "", .at_once = false}), tell)) {
    write_stdout(results.empty() ? outcome.out : "\n" + outcome.out);
    results.push_back({.device = "", .code = code_of(outcome)});
  }
  return code_of_all(results);
}

ExitCode SeveralDevices::measure_both_ways() {
  const std::string folder = options_.json.empty() ? "" : report_folder(options_.json);
  const std::vector<DeviceResult> together =
      measure({.folder = folder_in(folder, "together/"), .at_once = true, .word = " together"});
  const ExitCode first = code_of_all(together);
  if (interruption()) return first;
  const std::vector<DeviceResult> alone =
      measure({.folder = folder_in(folder, "alone/"), .at_once = false, .word = " alone"});
  show(together_table(together, alone, text::table_style()));
  std::vector<DeviceResult> all = together;
  all.insert(all.end(), alone.begin(), alone.end());
  return code_of_all(all);
}

ExitCode SeveralDevices::run() {
  if (options_.together_and_alone && indices_.size() < 2) {
    throw Error(
        ErrorKind::kUsage,
        "--together-and-alone needs two devices or more; --device all takes those that there are");
  }
  if (options_.dry_run) return show_dry_run();
  if (options_.together_and_alone) return measure_both_ways();
  const std::string folder = options_.json.empty() ? "" : report_folder(options_.json);
  const std::vector<DeviceResult> results =
      measure({.folder = folder, .at_once = !options_.in_turn});
  for (const DeviceResult& each : results) {
    if (each.report) show(report::to_table(*each.report, text::table_style()) + "\n");
  }
  show(results_table(results, text::table_style()));
  return code_of_all(results);
}

}  // namespace

ExitCode run_on_several(const record::RunOptions& options) {
  return SeveralDevices(options).run();
}

}  // namespace nf4bench::bench
