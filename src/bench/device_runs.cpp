#include "bench/device_runs.hpp"

#include "base/signals.hpp"
#include "bench/child_run.hpp"
#include "device/devices.hpp"
#include "report/host.hpp"
#include "report/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace nf4bench::bench {
namespace {

// The exit codes of a run, from the best to the worst.
constexpr std::array kCodes = {ExitCode::kOk,       ExitCode::kInconclusive,
                               ExitCode::kNoDevice, ExitCode::kVerificationFailed,
                               ExitCode::kBadInput, ExitCode::kUsage};

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

ChildCommand command_for(int index, const DeviceRuns& runs) {
  record::RunOptions options = runs.options;
  options.device = device_name(index);
  options.together = runs.at_once ? static_cast<int>(runs.indices.size()) : 1;
  options.json = runs.folder.empty() ? "-" : path_of(index, runs.folder);
  options.quiet = true;
  options.together_and_alone = false;
  return run_command_for(options, {kTellProgress});
}

// Why there is no whole report, as far as the process itself has not said it.
std::string problem_of(const ChildOutcome& outcome, double silence_s) {
  constexpr int kSignalled = 128;
  if (outcome.was_silent) return fmt::format("no progress for {} s", silence_s);
  if (outcome.exit_code == static_cast<int>(ExitCode::kInterrupted) ||
      outcome.exit_code == static_cast<int>(ExitCode::kTerminated)) {
    return "interrupted";
  }
  if (outcome.exit_code > kSignalled) {
    return fmt::format("its process was ended by signal {}", outcome.exit_code - kSignalled);
  }
  return "";
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

}  // namespace

std::string device_name(int index) {
  return fmt::format("cuda:{}", index);
}

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

std::vector<ChildOutcome> run_devices(const DeviceRuns& runs, const TakeErr& take_err) {
  const auto watch = [&](std::size_t first) {
    return ChildWatch{
        .interrupted = runs.interrupted,
        .stop_signal = signal_for_children,
        .on_err = [&take_err, first](std::size_t index,
                                     std::string_view bytes) { take_err(first + index, bytes); },
        .silence_s = runs.options.device_timeout_s};
  };
  std::vector<ChildCommand> commands;
  for (const int index : runs.indices) commands.push_back(command_for(index, runs));
  if (runs.at_once) return run_children(commands, watch(0));
  std::vector<ChildOutcome> outcomes;
  for (std::size_t i = 0; i < commands.size() && !runs.interrupted.load(); ++i) {
    outcomes.push_back(run_children({commands[i]}, watch(i)).front());
  }
  outcomes.resize(commands.size());
  return outcomes;
}

std::vector<DeviceResult> measure_devices(const DeviceRuns& runs, const TakeErr& take_err) {
  const std::string since = report::utc_now();
  const std::vector<ChildOutcome> outcomes = run_devices(runs, take_err);
  std::vector<DeviceResult> results;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const ChildOutcome& outcome = outcomes[i];
    DeviceResult result;
    result.device = device_name(runs.indices[i]);
    result.code = code_of(outcome);
    result.problem = problem_of(outcome, runs.options.device_timeout_s);
    result.was_silent = outcome.was_silent;
    result.path = path_of(runs.indices[i], runs.folder);
    result.report = report_of(result.path, outcome.out, since);
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace nf4bench::bench
