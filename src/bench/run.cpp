#include "bench/run.hpp"

#include "bench/company_check.hpp"
#include "bench/counting.hpp"
#include "bench/energy.hpp"
#include "bench/run_report.hpp"
#include "bench/runner.hpp"
#include "record/samples.hpp"
#include "report/crossover.hpp"
#include "report/findings.hpp"
#include "report/host.hpp"
#include "report/ranking.hpp"

#include <algorithm>

namespace nf4bench::bench {
namespace {

// A run that goes on. Borrowed.
struct Running {
  RunPlan& plan;
  record::Report& report;
  const RunEvents& events;
  const std::atomic<bool>& interrupted;

  void tell(double done, const std::string& what) const {
    if (events.on_progress) events.on_progress(done, what);
  }
};

void add_row(const Running& running, const record::Measurement& measurement) {
  record::Report& report = running.report;
  report.measurements.push_back(measurement);
  if (!running.plan.options.keep_samples) record::leave_out_samples(report.measurements.back());
  if (running.events.on_rows) running.events.on_rows();
}

// Of the operations of a run, number `turn` of `turns` is at work.
RunObserver observe(const Running& running, std::size_t turn, std::size_t turns) {
  return {
      .on_loaded = [running](const LoadedTensor& loaded) { note_loaded(running.report, loaded); },
      .on_measurement = [running](const record::Measurement& row) { add_row(running, row); },
      .on_stream_ceiling =
          [running](const record::StreamCeiling& ceiling) {
            running.report.stream_ceilings.push_back(ceiling);
          },
      .on_progress =
          [running, turn, turns](double done, const std::string& what) {
            running.tell((static_cast<double>(turn) + done) / static_cast<double>(turns), what);
          },
      .on_hang = running.events.on_hang};
}

// Measures one tensor with one more number of tokens. Returns whether it was not interrupted.
bool probe(const report::CrossoverProbe& probe, const Running& running) {
  for (const OperationPlan& operation : running.plan.operations) {
    const auto planned =
        std::ranges::find(operation.tensors, probe.tensor, &plan::PlannedTensor::id);
    if (!operation.operation.has_tokens || planned == operation.tensors.end()) continue;
    std::vector<plan::PlannedTensor> tensors = {*planned};
    tensors.front().verify_also.clear();  // they were verified with other numbers of tokens
    record::RunOptions options = operation.options;
    options.tokens = {probe.tokens};
    const RunRequest request = {
        *running.plan.device, operation.operation, tensors, operation.variants, options,
        operation.clocks()};
    const RunOutcome outcome = run_benchmark(request, running.report.ceilings,
                                             observe(running, 1, 1), running.interrupted);
    if (outcome.interrupted) return false;
  }
  return true;
}

// Measures between numbers of tokens of which different variants are the fastest, until these are
// neighbours. Returns whether it was not interrupted.
bool probe_crossovers(const Running& running) {
  constexpr int kMostRounds = 17;  // that halve a distance of at most 65,536
  for (int round = 0; round < kMostRounds; ++round) {
    const auto probes = report::crossover_probes(running.report);
    if (probes.empty()) break;
    for (const report::CrossoverProbe& each : probes) {
      if (!probe(each, running)) return false;
    }
  }
  return true;
}

// Returns whether it was not interrupted.
bool measure_operations(const Running& running) {
  const auto& operations = running.plan.operations;
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const RunOutcome outcome =
        run_benchmark(operations[i].request(*running.plan.device), running.report.ceilings,
                      observe(running, i, operations.size()), running.interrupted);
    // Another operation verifies the same tensors again.
    running.report.tensors_verified =
        std::max(running.report.tensors_verified, outcome.tensors_verified);
    if (outcome.interrupted) return false;
  }
  return true;
}

// The variants of the run under the names that the options know; one that runs against itself has
// more names in the report.
std::vector<CompanyMember> members_of(const RunPlan& plan) {
  std::vector<CompanyMember> members;
  for (const OperationPlan& operation : plan.operations) {
    for (const plan::SelectedVariant& each : operation.variants) {
      if (each.name == each.variant.name) members.push_back({operation.operation.name, each.name});
    }
  }
  return members;
}

std::vector<CountedOperation> counted_operations(const RunPlan& plan) {
  std::vector<CountedOperation> counted;
  for (const OperationPlan& each : plan.operations) {
    CountedOperation& operation = counted.emplace_back();
    operation.name = each.operation.name;
    for (const plan::PlannedTensor& tensor : each.tensors) operation.tensors.push_back(tensor.id);
  }
  return counted;
}

}  // namespace

record::Report start_report(const RunPlan& plan) {
  record::Report report = start_report(*plan.device, plan.options);
  for (const OperationPlan& each : plan.operations) {
    list_operation(report, each.request(*plan.device));
  }
  report.shard = plan.shard;
  report.warnings = plan.warnings;
  return report;
}

void measure(RunPlan& plan, record::Report& report, const RunEvents& events,
             const std::atomic<bool>& interrupted) {
  const Running running = {plan, report, events, interrupted};
  if (plan.options.measure_stream_shapes) {
    running.tell(0.0, "measuring what the memory can do");
    report.ceilings = plan.device->measure_ceilings();
  }
  if (plan.options.measure_energy) {
    running.tell(0.0, "measuring the power at rest");
    report.idle_power_w = idle_power(*plan.device, interrupted);
  }
  report.complete =
      measure_operations(running) && (!plan.options.crossover || probe_crossovers(running));
  report.state_after = plan.device->state();
  for (const std::vector<std::string>& more :
       {report::baseline_warnings(report), report::sharing_warnings(report),
        report::throttling_warnings(report), report::load_warnings(report),
        report::unjudged_warnings(report)}) {
    report.warnings.insert(report.warnings.end(), more.begin(), more.end());
  }
  if (plan.options.check_company && report.complete) {
    check_company(report, {plan.options, members_of(plan), events.on_progress, interrupted});
    report.complete = !interrupted.load();
  }
  if (!plan.options.why.empty() && report.complete) {
    count(report, {plan.options, counted_operations(plan), events.on_progress, interrupted});
    report.complete = !interrupted.load();
  }
  report.finished_at = report::utc_now();
}

}  // namespace nf4bench::bench
