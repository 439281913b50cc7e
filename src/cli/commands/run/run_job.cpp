#include "cli/commands/run/run_job.hpp"

#include "base/output_target.hpp"
#include "base/signals.hpp"
#include "base/terminal.hpp"
#include "bench/run.hpp"
#include "bench/run_plan.hpp"
#include "cli/commands/run/dry_run.hpp"
#include "cli/commands/run/run_ending.hpp"
#include "cli/commands/run/several_devices.hpp"
#include "cli/outputs.hpp"
#include "cli/progress_line.hpp"
#include "device/device_use.hpp"
#include "device/devices.hpp"
#include "plan/shard.hpp"
#include "report/report_file.hpp"

#include <fmt/format.h>

#include <utility>

namespace nf4bench::cli {
namespace {

void warn(const std::string& warning) {
  write_stderr(fmt::format("nf4bench: warning: {}\n", warning));
}

// Adds a warning, which may be empty, to the report as well.
void warn(record::Report& report, const std::string& warning) {
  if (warning.empty()) return;
  report.warnings.push_back(warning);
  warn(warning);
}

// Where the report goes, checked before foreign code runs and a device is opened.
OutputTarget choose_output(const bench::RunParts& parts, const Context& context) {
  CommandInputs inputs = {
      .peers = parts.peers, .reports = {}, .activations = parts.options.activations_file};
  for (const auto& each : parts.sources.checkpoints) inputs.checkpoints.push_back(each.get());
  OutputTarget output =
      report_target("--json", parts.options.json, files_read(inputs, context), parts.options.force);
  if (!output.path.empty()) check_text_output(output);
  return output;
}

// Opens what the options name, but for the device.
bench::RunParts parts_of(record::RunOptions options) {
  bench::RunParts parts;
  parts.shard = plan::shard_of(options);
  // /dev/stdout and its other names mean "-", whose table goes to stderr.
  options.json = is_stdout(options.json) ? "-" : plan::report_path(options.json, parts.shard);
  device::check_device_name(options.device);
  for (const std::string& option : bench::idle_options(options)) {
    warn(fmt::format("{} changes nothing without --operation matmul", option));
  }
  parts.peers = peer::parse_peers(options.peers);
  parts.sources = plan::find_sources(options);
  parts.options = std::move(options);
  return parts;
}

ExitCode run(const record::RunOptions& asked, const Context& context) {
  bench::RunParts parts = parts_of(asked);
  const OutputTarget output = choose_output(parts, context);
  bench::RunPlan plan =
      bench::make_plan(std::move(parts), [](const std::string& warning) { warn(warning); });
  const record::RunOptions& options = plan.options;
  if (options.dry_run) {
    write_stdout(describe(plan));
    return ExitCode::kOk;
  }

  const std::atomic<bool>& interrupted = watch_for_interruption();
  record::Report report = bench::start_report(plan);
  report::ReportFile file(options.json, report, [&output] { check_output(output); });
  const RunEnding ending(report, file, options);
  const device::DeviceUse use(plan.device->info());
  warn(report, use.company_at_start());
  try {
    ProgressLine progress(options.quiet ? ProgressLine::Mode::kSilent : ProgressLine::Mode::kAuto);
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
  warn(report, use.company_meanwhile());
  return ending.publish();
}

}  // namespace

ExitCode execute(const RunArguments& arguments, const Context& context) {
  record::RunOptions options = options_of(arguments);
  if (options.command.empty()) options.command = context.argv;
  if (device::names_several(options.device) || options.together_and_alone) {
    return run_on_several(options);
  }
  return run(options, context);
}

}  // namespace nf4bench::cli
