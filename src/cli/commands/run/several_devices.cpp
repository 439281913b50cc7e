#include "cli/commands/run/several_devices.hpp"

#include "base/signals.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "bench/device_runs.hpp"
#include "cli/commands/run/device_results.hpp"
#include "cli/progress_board.hpp"
#include "device/devices.hpp"
#include "report/tables.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>
#include <unistd.h>

namespace nf4bench::cli {
namespace {

using bench::DeviceResult;

namespace fs = std::filesystem;

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
  bench::DeviceRuns devices(const Round& round) const;
  std::vector<std::string> names(const char* word) const;
  text::Style style() const;
  void show(const std::string& text) const;
  ExitCode code_of_all(const std::vector<DeviceResult>& results) const;

  const record::RunOptions& options_;
  std::vector<int> indices_;
  const std::atomic<bool>& interrupted_ = watch_for_interruption();
};

// Several reports need a folder, which is made.
std::string make_folder(const std::string& path) {
  std::error_code error;
  if (path == "-" || (fs::exists(path, error) && !fs::is_directory(path, error))) {
    throw Error(ErrorKind::kUsage,
                fmt::format("--json: \"{}\" cannot hold a report of each device; "
                            "name a folder",
                            escaped(path)));
  }
  fs::create_directories(path, error);
  if (error) {
    throw Error(ErrorKind::kOutput, fmt::format("--json: the folder {} cannot be made: {}",
                                                escaped(path), error.message()));
  }
  return path.ends_with('/') ? path : path + "/";
}

std::string folder_in(const std::string& folder, const char* name) {
  return folder.empty() ? "" : make_folder(folder + name);
}

std::vector<std::string> SeveralDevices::names(const char* word) const {
  std::vector<std::string> all;
  for (const int index : indices_) all.push_back(bench::device_name(index) + word);
  return all;
}

std::vector<DeviceResult> SeveralDevices::measure(const Round& round) {
  ProgressBoard board(names(round.word),
                      options_.quiet ? ProgressLine::Mode::kSilent : ProgressLine::Mode::kAuto);
  std::vector<DeviceResult> results = bench::measure_devices(
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

bench::DeviceRuns SeveralDevices::devices(const Round& round) const {
  return {options_, indices_, interrupted_, round.folder, round.at_once};
}

text::Style SeveralDevices::style() const {
  return text::report_style(terminal_of(STDOUT_FILENO));
}

void SeveralDevices::show(const std::string& text) const {
  if (!options_.quiet) write_stdout(text);
}

ExitCode SeveralDevices::code_of_all(const std::vector<DeviceResult>& results) const {
  return interruption().value_or(bench::worst_of(results));
}

ExitCode SeveralDevices::show_dry_run() {
  ProgressBoard board(names(""), ProgressLine::Mode::kSilent);
  std::vector<DeviceResult> results;
  const auto tell = [&board](std::size_t index, std::string_view bytes) {
    board.take(index, bytes);
  };
  for (const ChildOutcome& outcome :
       bench::run_devices(devices({.folder = "", .at_once = false}), tell)) {
    write_stdout(results.empty() ? outcome.out : "\n" + outcome.out);
    results.push_back({.device = "", .code = bench::code_of(outcome)});
  }
  return code_of_all(results);
}

ExitCode SeveralDevices::measure_both_ways() {
  const std::string folder = options_.json.empty() ? "" : make_folder(options_.json);
  const std::vector<DeviceResult> together =
      measure({.folder = folder_in(folder, "together/"), .at_once = true, .word = " together"});
  const ExitCode first = code_of_all(together);
  if (interruption()) return first;
  const std::vector<DeviceResult> alone =
      measure({.folder = folder_in(folder, "alone/"), .at_once = false, .word = " alone"});
  show(together_table(together, alone, text::report_style(terminal_of(STDOUT_FILENO))));
  std::vector<DeviceResult> all = together;
  all.insert(all.end(), alone.begin(), alone.end());
  return code_of_all(all);
}

ExitCode SeveralDevices::run() {
  if (options_.together_and_alone && indices_.size() < 2) {
    throw Error(ErrorKind::kUsage,
                "--together-and-alone needs two devices or more; --device all "
                "takes those that there are");
  }
  if (options_.dry_run) return show_dry_run();
  if (options_.together_and_alone) return measure_both_ways();
  const std::string folder = options_.json.empty() ? "" : make_folder(options_.json);
  const std::vector<DeviceResult> results =
      measure({.folder = folder, .at_once = !options_.in_turn});
  for (const DeviceResult& each : results) {
    if (each.report) show(report::to_table(*each.report, style()) + "\n");
  }
  show(results_table(results, text::report_style(terminal_of(STDOUT_FILENO))));
  return code_of_all(results);
}

}  // namespace

ExitCode run_on_several(const record::RunOptions& options) {
  return SeveralDevices(options).run();
}

}  // namespace nf4bench::cli
