#include "base/output_target.hpp"
#include "base/signals.hpp"
#include "base/terminal.hpp"
#include "bench/run.hpp"
#include "bench/run_ending.hpp"
#include "bench/run_plan.hpp"
#include "cli/commands/commands.hpp"
#include "cli/files.hpp"
#include "device/devices.hpp"
#include "plan/shard.hpp"
#include "report/host.hpp"
#include "report/report.hpp"
#include "text/progress.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <utility>

namespace nf4bench::cli {
namespace {

// Says a warning, which may be empty, in the report as well.
void warn_in(record::Report& report, const std::string& warning) {
  if (warning.empty()) return;
  report.warnings.push_back(warning);
  warn(warning);
}

// Where the report goes, checked before foreign code runs and a device is opened.
OutputTarget choose_output(const bench::RunParts& parts, const Context& context) {
  CommandInputs inputs = {.peers = parts.peers,
                          .reports = {},
                          .activations = parts.options.activations_file,
                          .routing = operation::parse_routing(parts.options.routing).file};
  for (const auto& each : parts.sources.checkpoints) inputs.checkpoints.push_back(each.get());
  OutputTarget output =
      report_target("--json", parts.options.json, files_read(inputs, context), parts.options.force);
  if (output.path.empty()) return output;
  // The folder that the tasks of a job share is made by the first of them; if it cannot be, the
  // check of the path says why.
  const std::filesystem::path folder = std::filesystem::path(output.path).parent_path();
  std::error_code ignored;
  if (parts.shard && !folder.empty() && !std::filesystem::exists(folder, ignored)) {
    if (parts.options.dry_run) return output;
    std::filesystem::create_directories(folder, ignored);
  }
  check_text_output(output);
  return output;
}

// The exit code of a run that ended with `code`: a peer that was asked for is not to be missed in
// silence.
ExitCode with_absent_peers(ExitCode code, const bench::RunPlan& plan) {
  const bool is_decided = code != ExitCode::kOk && code != ExitCode::kInconclusive;
  if (is_decided || plan.absent_peers.empty() || plan.options.peers_are_optional) return code;
  write_stderr(
      fmt::format("nf4bench: peer {} could not be used, see the warnings; "
                  "--peer-optional goes without\n",
                  fmt::join(plan.absent_peers, ", ")));
  return ExitCode::kBadInput;
}

// Opens what the options name, but for the device.
bench::RunParts parts_of(record::RunOptions options) {
  bench::RunParts parts;
  parts.shard = plan::shard_of(options);
  // /dev/stdout and its other names mean "-", whose table goes to stderr.
  options.json = is_stdout(options.json) ? "-" : plan::report_path(options.json, parts.shard);
  device::check_device_name(options.device);
  for (const std::string& idle : bench::idle_options(options)) warn(idle);
  parts.peers = peer::parse_peers(options.peers);
  parts.sources = plan::find_sources(options);
  parts.options = std::move(options);
  return parts;
}

}  // namespace

ExitCode run_on_one(const record::RunOptions& asked, const Context& context) {
  bench::RunParts parts = parts_of(asked);
  const OutputTarget output = choose_output(parts, context);
  bench::RunPlan plan = bench::make_plan(std::move(parts), warn);
  const record::RunOptions& options = plan.options;
  if (options.single_call > 0) {
    bench::make_single_call(plan);
    return ExitCode::kOk;
  }
  if (options.dry_run) {
    write_stdout(bench::plan_text(plan));
    return ExitCode::kOk;
  }

  const std::atomic<bool>& interrupted = watch_for_interruption();
  record::Report report = bench::start_report(plan);
  const auto text_of = [&options](const record::Report& found) {
    return report::to_json(options.anonymous ? report::anonymous(found) : found);
  };
  report::ReportFile file(
      options.json, report, [&output] { check_output(output); }, text_of);
  const bench::RunEnding ending(report, file, options);
  const device::DeviceUse use(plan.device->info());
  warn_in(report, use.others_at_start());
  try {
    text::ProgressLine progress(options.quiet ? text::ProgressMode::kSilent
                                              : text::ProgressMode::kAuto);
    const auto end_the_process = [&](const std::string& problem) {
      progress.clear();
      ending.abandon(problem);
    };
    bench::measure(
        plan, report,
        {.on_rows = [&file] { file.changed(); },
         .on_progress = [&progress](double done,
                                    const std::string& what) { progress.update(done, what); },
         .on_hang = end_the_process},
        interrupted);
  } catch (const Error& error) {
    ending.break_off(error.what());
    throw;
  }
  warn_in(report, use.others_meanwhile());
  return with_absent_peers(ending.publish(), plan);
}

}  // namespace nf4bench::cli
