#include "cli/commands/run/several_devices.hpp"

#include "base/child_process.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "cli/commands/run/child_run.hpp"
#include "cli/commands/run/device_results.hpp"
#include "cli/progress_board.hpp"
#include "cli/signals.hpp"
#include "device/devices.hpp"
#include "report/host.hpp"
#include "report/report_input.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>
#include <unistd.h>

namespace nf4bench::cli {
namespace {

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
  std::vector<ChildOutcome> run_all(const Round& round, ProgressBoard& board);
  ChildCommand command_for(int index, const Round& round) const;
  std::vector<std::string> names(const char* word) const;
  report::TableStyle style() const;
  void show(const std::string& text) const;
  ExitCode code_of_all(const std::vector<DeviceResult>& results) const;

  const record::RunOptions& options_;
  std::vector<int> indices_;
  const std::atomic<bool>& interrupted_ = watch_for_interruption();
};

std::string name_of(int index) {
  return fmt::format("cuda:{}", index);
}

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

// The report of a device, called after its UUID. One that does not say what it is will not write
// it.
std::string path_of(int index, const std::string& folder) {
  if (folder.empty()) return "";
  try {
    return fmt::format("{}{}.json", folder, device::cuda_device_info(index).uuid);
  } catch (const Error&) {
    return fmt::format("{}cuda-{}.json", folder, index);
  }
}

ChildCommand SeveralDevices::command_for(int index, const Round& round) const {
  record::RunOptions options = options_;
  options.device = name_of(index);
  options.together = round.at_once ? static_cast<int>(indices_.size()) : 1;
  options.json = round.folder.empty() ? "-" : path_of(index, round.folder);
  options.quiet = true;
  options.together_and_alone = false;
  return run_command_for(options, {kTellProgress});
}

std::vector<std::string> SeveralDevices::names(const char* word) const {
  std::vector<std::string> all;
  for (const int index : indices_) all.push_back(name_of(index) + word);
  return all;
}

std::vector<ChildOutcome> SeveralDevices::run_all(const Round& round, ProgressBoard& board) {
  const auto watch = [&](std::size_t first) {
    return ChildWatch{
        .interrupted = interrupted_,
        .stop_signal = signal_for_children,
        .on_err = [&board, first](std::size_t index,
                                  std::string_view bytes) { board.take(first + index, bytes); },
        .silence_s = options_.device_timeout_s};
  };
  std::vector<ChildCommand> commands;
  for (const int index : indices_) commands.push_back(command_for(index, round));
  if (round.at_once) return run_children(commands, watch(0));
  std::vector<ChildOutcome> outcomes;
  for (std::size_t i = 0; i < commands.size() && !interrupted_.load(); ++i) {
    outcomes.push_back(run_children({commands[i]}, watch(i)).front());
  }
  outcomes.resize(commands.size());
  return outcomes;
}

// Why there is no whole report; empty when there should be one.
std::string problem_of(const ChildOutcome& outcome, double silence_s, const std::string& said) {
  constexpr int kSignalled = 128;
  if (outcome.was_silent) return fmt::format("no progress for {} s", silence_s);
  if (outcome.exit_code == static_cast<int>(ExitCode::kInterrupted) ||
      outcome.exit_code == static_cast<int>(ExitCode::kTerminated)) {
    return "interrupted";
  }
  if (outcome.exit_code > kSignalled) {
    return fmt::format("its process was ended by signal {}", outcome.exit_code - kSignalled);
  }
  return outcome.exit_code == 0 ? "" : said;
}

// What the process of a device left, if it began after `since`: an older report may still be there.
std::optional<record::Report> report_of(const std::string& path, const std::string& out,
                                        const std::string& since) {
  try {
    record::Report report = path.empty() ? report::report_from_json(out, "its report")
                                         : report::read_report(path).report;
    if (report.started_at < since) return std::nullopt;
    return report;
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::vector<DeviceResult> SeveralDevices::measure(const Round& round) {
  const std::string since = report::utc_now();
  ProgressBoard board(names(round.word),
                      options_.quiet ? ProgressLine::Mode::kSilent : ProgressLine::Mode::kAuto);
  std::vector<ChildOutcome> outcomes = run_all(round, board);
  board.clear();
  std::vector<DeviceResult> results;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const ChildOutcome& outcome = outcomes[i];
    DeviceResult result;
    result.device = name_of(indices_[i]);
    result.code = code_of(outcome);
    result.problem = problem_of(outcome, options_.device_timeout_s, board.last_line(i));
    result.path = path_of(indices_[i], round.folder);
    result.report = report_of(result.path, outcome.out, since);
    if (outcome.was_silent) {
      write_stderr(fmt::format("{}: {}: its process was ended (--device-timeout sets the limit)\n",
                               result.device, result.problem));
    }
    results.push_back(std::move(result));
  }
  return results;
}

report::TableStyle SeveralDevices::style() const {
  const Terminal terminal = terminal_of(STDOUT_FILENO);
  return {.width = terminal.width, .colour = terminal.colour};
}

void SeveralDevices::show(const std::string& text) const {
  if (!options_.quiet) write_stdout(text);
}

ExitCode SeveralDevices::code_of_all(const std::vector<DeviceResult>& results) const {
  return interruption().value_or(worst_of(results));
}

ExitCode SeveralDevices::show_dry_run() {
  ProgressBoard board(names(""), ProgressLine::Mode::kSilent);
  std::vector<DeviceResult> results;
  for (const ChildOutcome& outcome : run_all({.folder = "", .at_once = false}, board)) {
    write_stdout(results.empty() ? outcome.out : "\n" + outcome.out);
    results.push_back({.device = "", .code = code_of(outcome)});
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
