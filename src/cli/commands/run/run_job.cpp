#include "cli/commands/run/run_job.hpp"

#include "base/output_target.hpp"
#include "base/terminal.hpp"
#include "bench/energy.hpp"
#include "bench/run_report.hpp"
#include "bench/runner.hpp"
#include "cli/commands/run/company.hpp"
#include "cli/commands/run/dry_run.hpp"
#include "cli/commands/run/run_ending.hpp"
#include "cli/commands/run/run_plan.hpp"
#include "cli/commands/run/several_devices.hpp"
#include "cli/commands/run/shard.hpp"
#include "cli/progress_line.hpp"
#include "cli/signals.hpp"
#include "device/device_use.hpp"
#include "device/devices.hpp"
#include "record/sample_digest.hpp"
#include "report/crossover.hpp"
#include "report/host.hpp"
#include "report/ranking.hpp"
#include "report/report_file.hpp"
#include "report/throttling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace nf4bench::cli {
namespace {

// What is written while a run goes on. Borrowed.
struct RunOutput {
  record::Report& report;
  report::ReportFile& file;
  const RunEnding& ending;
  ProgressLine& progress;
  bool keep_samples;
};

record::Report start_report(RunPlan& plan) {
  record::Report report = bench::start_report(*plan.device, plan.options);
  for (const OperationPlan& each : plan.operations) {
    bench::list_operation(report, each.request(*plan.device));
  }
  report.shard = plan.shard;
  report.warnings = plan.warnings;
  return report;
}

// Adds a warning, which may be empty, to the report and to stderr.
void warn(record::Report& report, const std::string& warning) {
  if (warning.empty()) return;
  report.warnings.push_back(warning);
  write_stderr(fmt::format("nf4bench: warning: {}\n", warning));
}

// Which of the operations of a run is at work.
struct Turn {
  std::size_t index = 0;
  std::size_t count = 1;
};

bench::RunObserver observe(const RunOutput& output, const Turn& turn) {
  return {.on_loaded =
              [output](const bench::LoadedTensor& loaded) {
                bench::note_loaded(output.report, loaded);
              },
          .on_measurement =
              [output](const record::Measurement& measurement) {
                output.report.measurements.push_back(measurement);
                if (!output.keep_samples) {
                  record::leave_out_samples(output.report.measurements.back());
                }
                output.file.changed();
              },
          .on_stream_ceiling =
              [output](const record::StreamCeiling& ceiling) {
                output.report.stream_ceilings.push_back(ceiling);
              },
          .on_progress =
              [output, turn](double done, const std::string& what) {
                const double before = static_cast<double>(turn.index) + done;
                output.progress.update(before / static_cast<double>(turn.count), what);
              },
          .on_hang =
              [output](const std::string& problem) {
                output.progress.clear();
                output.ending.abandon(problem);
              }};
}

// Measures one tensor with one more number of tokens. Returns whether it was not interrupted.
bool probe(const report::CrossoverProbe& probe, RunPlan& plan, const RunOutput& output,
           const std::atomic<bool>& interrupted) {
  for (const OperationPlan& operation : plan.operations) {
    const auto planned =
        std::ranges::find(operation.tensors, probe.tensor, &plan::PlannedTensor::id);
    if (!operation.operation.make_input || planned == operation.tensors.end()) continue;
    std::vector<plan::PlannedTensor> tensors = {*planned};
    tensors.front().verify_also.clear();  // they were verified with other numbers of tokens
    record::RunOptions options = operation.options;
    options.tokens = {probe.tokens};
    const bench::RunRequest request = {*plan.device, operation.operation, tensors,
                                       operation.variants, options};
    const bench::RunOutcome outcome =
        bench::run_benchmark(request, output.report.ceilings, observe(output, {1, 1}), interrupted);
    if (outcome.interrupted) return false;
  }
  return true;
}

// Measures between numbers of tokens of which different variants are the fastest, until these are
// neighbours. Returns whether it was not interrupted.
bool probe_crossovers(RunPlan& plan, const RunOutput& output,
                      const std::atomic<bool>& interrupted) {
  constexpr int kMostRounds = 17;  // that halve a distance of at most 65,536
  for (int round = 0; round < kMostRounds; ++round) {
    const auto probes = report::crossover_probes(output.report);
    if (probes.empty()) break;
    for (const report::CrossoverProbe& each : probes) {
      if (!probe(each, plan, output, interrupted)) return false;
    }
  }
  return true;
}

// Fills the report and keeps its file up to date.
void measure(RunPlan& plan, const RunOutput& output, const std::atomic<bool>& interrupted) {
  record::Report& report = output.report;
  if (plan.options.measure_stream_shapes) {
    output.progress.update(0.0, "measuring what the memory can do");
    report.ceilings = plan.device->measure_ceilings();
  }
  if (plan.options.measure_energy) {
    output.progress.update(0.0, "measuring the power at rest");
    report.idle_power_w = bench::idle_power(*plan.device, interrupted);
  }
  bool was_interrupted = false;
  for (std::size_t i = 0; i < plan.operations.size() && !was_interrupted; ++i) {
    const bench::RunOutcome outcome =
        bench::run_benchmark(plan.operations[i].request(*plan.device), report.ceilings,
                             observe(output, {i, plan.operations.size()}), interrupted);
    // Another operation verifies the same tensors again.
    report.tensors_verified = std::max(report.tensors_verified, outcome.tensors_verified);
    was_interrupted = outcome.interrupted;
  }
  if (plan.options.crossover && !was_interrupted) {
    was_interrupted = !probe_crossovers(plan, output, interrupted);
  }
  report.state_after = plan.device->state();
  report.complete = !was_interrupted;
  for (const std::vector<std::string>& more :
       {report::sharing_warnings(report), report::throttling_warnings(report),
        report::load_warnings(report)}) {
    report.warnings.insert(report.warnings.end(), more.begin(), more.end());
  }
}

// The variants of the run under the names that the command line knows; one that runs against itself
// has more names in the report.
std::vector<CompanyMember> members_of(const RunPlan& plan) {
  std::vector<CompanyMember> members;
  for (const OperationPlan& operation : plan.operations) {
    for (const plan::SelectedVariant& each : operation.variants) {
      if (each.name == each.variant.name) members.push_back({operation.operation.name, each.name});
    }
  }
  return members;
}

// /dev/stdout and its other names mean "-", whose table goes to stderr.
std::string path_of_report(const std::string& json, const std::optional<record::Shard>& shard) {
  return is_stdout(json) ? "-" : report_path(json, shard);
}

ExitCode run(record::RunOptions options, const Context& context) {
  const std::optional<record::Shard> shard = shard_of(options);
  options.json = path_of_report(options.json, shard);
  RunPlan plan = plan_run(options, shard, context);
  if (options.dry_run) {
    write_stdout(describe(plan));
    return ExitCode::kOk;
  }

  const std::atomic<bool>& interrupted = watch_for_interruption();
  record::Report report = start_report(plan);
  report::ReportFile file(options.json, report, [&plan] { check_output(plan.output); });
  const RunEnding ending(report, file, options);
  const device::DeviceUse use(plan.device->info());
  warn(report, use.company_at_start());
  try {
    ProgressLine progress(options.quiet ? ProgressLine::Mode::kSilent : ProgressLine::Mode::kAuto);
    measure(plan, {report, file, ending, progress, options.keep_samples}, interrupted);
    if (options.check_company && report.complete) {
      check_company(report, {options, members_of(plan), progress, interrupted});
      report.complete = !interrupted.load();
    }
    report.finished_at = report::utc_now();
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
  return run(std::move(options), context);
}

}  // namespace nf4bench::cli
