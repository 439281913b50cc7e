#include "bench/run.hpp"

#include "base/child_process.hpp"
#include "base/error.hpp"
#include "base/signals.hpp"
#include "base/text.hpp"
#include "bench/child_run.hpp"
#include "bench/counting.hpp"
#include "bench/energy.hpp"
#include "bench/runner.hpp"
#include "nf4/finiteness.hpp"
#include "nf4/tensor.hpp"
#include "operation/weight.hpp"
#include "peer/peer_argument.hpp"
#include "plan/problems.hpp"
#include "record/report.hpp"
#include "record/run_options.hpp"
#include "record/samples.hpp"
#include "report/findings.hpp"
#include "report/host.hpp"
#include "report/ranking.hpp"
#include "report/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nf4bench::bench {
namespace {

// A variant of an operation.
struct CompanyMember {
  std::string operation;
  std::string variant;
};

// What the check works with. Borrowed.
struct CompanyCheck {
  const record::RunOptions& options;  // of the run that made the report
  const std::vector<CompanyMember>& members;
  const std::function<void(double done, const std::string& what)>& on_progress;  // may be empty
  const std::atomic<bool>& interrupted;
};

// A lock would make each of these processes warn of the one that waits for it.
ChildCommand command_for(const CompanyMember& member, record::RunOptions options) {
  options.operations = {member.operation};
  options.variants = {member.variant};
  options.baseline = "none";
  options.json = std::string("-");  // GCC 12 sees an overflow in a literal here
  options.quiet = true;
  options.measure_stream_shapes = false;
  options.measure_energy = false;
  options.check_company = false;
  options.why.clear();
  options.peers_are_optional = true;  // the run itself has told
  return run_command_for(options, {"NF4BENCH_LOCKS=", "NF4BENCH_PROGRESS="});
}

// The rows of a run of `member` alone; a warning and none when there is no such report.
std::vector<record::Measurement> rows_alone(record::Report& report, const CompanyMember& member,
                                            const CompanyCheck& check) {
  const ChildOutcome outcome =
      run_children({command_for(member, check.options)},
                   {.interrupted = check.interrupted, .stop_signal = signal_for_children})
          .front();
  if (check.interrupted.load()) return {};
  try {
    auto rows = report::report_from_json(outcome.out, "its report").measurements;
    const auto failed =
        std::ranges::find(rows, record::Status::kFailed, &record::Measurement::status);
    if (failed != rows.end()) {
      report.warnings.push_back(
          fmt::format("{} could not be measured alone: {}", member.variant, failed->reason));
    }
    return rows;
  } catch (const Error& error) {
    const std::string said = outcome.err.empty() ? error.what() : outcome.err;
    report.warnings.push_back(
        fmt::format("{} could not be measured alone: its process ended with exit code {} ({})",
                    member.variant, outcome.exit_code, escaped(said)));
    return {};
  }
}

// Gives `m` the median of its cell among `rows`, unless it has one that agrees.
void note_alone(record::Measurement& m, const std::vector<record::Measurement>& rows) {
  if (m.alone && !record::depends_on_company(m)) return;
  for (const record::Measurement& row : rows) {
    if (row.cell != m.cell || row.status != record::Status::kPassed || !row.time_s) continue;
    m.alone = {.median_s = row.time_s->median,
               .ci95 = row.time_s->ci95,
               .sm_clock_hz = record::mean_clock_hz(row)};
  }
}

void check_member(record::Report& report, const CompanyMember& member, const CompanyCheck& check) {
  std::vector<record::Measurement*> own;
  for (record::Measurement& m : report.measurements) {
    const bool is_own = m.cell.operation == member.operation && m.variant == member.variant;
    if (is_own && m.status == record::Status::kPassed && m.time_s) own.push_back(&m);
  }
  if (own.empty()) return;
  constexpr int kAttempts = 2;
  for (int attempt = 0; attempt < kAttempts && !check.interrupted.load(); ++attempt) {
    const std::vector<record::Measurement> rows = rows_alone(report, member, check);
    if (rows.empty()) return;
    for (record::Measurement* m : own) note_alone(*m, rows);
    const bool is_settled = std::ranges::none_of(
        own, [](const record::Measurement* m) { return record::depends_on_company(*m); });
    if (is_settled) return;
  }
}

// Starts this program again for each of `members` that passed anywhere, with the options of the
// run, but for that variant alone; notes its medians and clocks in `report`, and a warning when
// there are none. A median that differs is measured once more, and the second one counts. Returns
// early when interrupted.
void check_company(record::Report& report, const CompanyCheck& check) {
  const auto count = static_cast<double>(check.members.size());
  for (std::size_t i = 0; i < check.members.size() && !check.interrupted.load(); ++i) {
    const CompanyMember& member = check.members[i];
    if (check.on_progress) {
      check.on_progress(static_cast<double>(i) / count,
                        fmt::format("{} {} alone", member.operation, member.variant));
    }
    check_member(report, member, check);
  }
}

record::ReportTensor report_tensor(const plan::PlannedTensor& planned) {
  const plan::TensorSource& source = planned.source;
  return {.id = planned.id,
          .name = source.name,
          .source = source.source,
          .geometry = source.geometry,
          .dtype = source.dtype,
          .sha256 = "",
          .multiplicity = planned.multiplicity};
}

record::ReportVariant report_variant(const std::string& operation,
                                     const plan::SelectedVariant& selected) {
  const kernels::Traits& traits = selected.variant.traits;
  return {.name = selected.name,
          .operation = operation,
          .summary = selected.variant.summary,
          .launches = traits.launches,
          .inline_ptx = traits.inline_ptx,
          .cache_hints = traits.cache_hints,
          .persistent = traits.persistent,
          .mirrors = traits.mirrors,
          .compiled_from = traits.compiled_from};
}

// Planned tensors are t0, t1, ..., t10, ...: in the order of their ids if a longer id comes later.
bool comes_before(const std::string& id, const std::string& other) {
  return std::pair(id.size(), std::string_view(id)) <
         std::pair(other.size(), std::string_view(other));
}

std::optional<record::ExpertChoice> experts_of(const record::RunOptions& options) {
  const bool has_experts = std::ranges::any_of(operation::operations_of(options.operations),
                                               &operation::Operation::has_routing);
  if (!has_experts) return std::nullopt;
  return record::ExpertChoice{options.top_k, options.routing};
}

record::Settings settings_of(const record::RunOptions& options) {
  return {.operations = {},
          .output_types = options.output_types,
          .caches = options.caches,
          .launches = options.launches,
          .baseline = options.baseline,
          .caches_rotated = options.caches_rotated,
          .min_samples = options.min_samples,
          .max_time_s = options.max_time_s,
          .precision = options.precision,
          .min_sample_s = options.min_sample_s,
          .duty = options.duty,
          .seed = options.seed,
          .verify = options.verify,
          .measure_stream_shapes = options.measure_stream_shapes,
          .tokens = options.tokens,
          .activations = options.activations,
          .activations_file = options.activations_file,
          .cold_activations = options.cold_activations,
          .experts = experts_of(options),
          .together = options.together};
}

}  // namespace

record::Report start_report(device::Device& device, const record::RunOptions& options) {
  record::Report report;
  report.tool = report::tool_info();
  report.command = options.command;
  report.started_at = report::utc_now();
  report.host = report::host_info();
  report.device = device.info();
  report.state_before = device.state();
  report.settings = settings_of(options);
  for (const peer::PeerArgument& each : peer::parse_peers(options.peers)) {
    report.peers.push_back(report::peer_file(each.name, each.path));
  }
  return report;
}

void list_operation(record::Report& report, const RunRequest& request) {
  report.settings.operations.push_back({request.operation.name, request.options.baseline});
  for (const plan::SelectedVariant& each : request.variants) {
    report.variants.push_back(report_variant(request.operation.name, each));
  }
  for (const plan::PlannedTensor& planned : request.tensors) {
    const auto place = std::ranges::lower_bound(report.tensors, planned.id, comes_before,
                                                &record::ReportTensor::id);
    if (place != report.tensors.end() && place->id == planned.id) continue;
    report.tensors.insert(place, report_tensor(planned));
  }
}

void note_loaded(record::Report& report, const LoadedTensor& loaded) {
  std::vector<nf4::OutputType> types = report.settings.output_types;
  if (types.empty()) types = {loaded.source.dtype};
  for (const nf4::OutputType type : types) {
    const std::string found = nf4::describe_non_finite(loaded.tensor, type);
    if (found.empty()) continue;
    const std::string warning = fmt::format("{}: {}", escaped(loaded.tensor.name), found);
    if (std::ranges::find(report.warnings, warning) == report.warnings.end()) {
      report.warnings.push_back(warning);  // once, however many operations load it
    }
  }
  if (!loaded.is_timed()) return;
  const auto tensor = std::ranges::lower_bound(report.tensors, loaded.planned.id, comes_before,
                                               &record::ReportTensor::id);
  tensor->sha256 = nf4::fingerprint(loaded.tensor);
}

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

namespace {

// One set of buffers serves hot and cold calls alike: what a call finds in the caches is up to the
// profiler.
void call_on(device::Device& device, const OperationPlan& plan, const nf4::Nf4Tensor& tensor,
             const kernels::Problem& problem) {
  const std::vector<std::byte> input = operation::call_input(plan.operation, problem, plan.options);
  const auto workload = device.upload(
      operation::make_work(plan.operation, {.tensor = tensor, .input = input}, problem),
      device::UploadPurpose::kTimeHot);
  for (const plan::SelectedVariant& each : plan.variants) {
    if (!workload->unsupported(each.variant).empty()) continue;
    workload->profile(each.variant);
  }
}

}  // namespace

void make_single_call(RunPlan& plan) {
  const OperationPlan& operation = plan.operations.front();
  const auto number = static_cast<std::size_t>(plan.options.single_call);
  if (number > operation.tensors.size()) {
    throw Error(ErrorKind::kUsage, "single_call: there is no tensor of this number");
  }
  const plan::TensorSource& source = operation.tensors[number - 1].source;
  const nf4::Nf4Tensor tensor = source.load();
  for (const kernels::Problem& problem :
       plan::problems_of(operation.operation, source, operation.options)) {
    call_on(*plan.device, operation, tensor, problem);
  }
}

}  // namespace nf4bench::bench
