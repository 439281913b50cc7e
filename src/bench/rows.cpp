#include "bench/rows.hpp"

#include "operation/weight.hpp"
#include "record/samples.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace nf4bench::bench {

namespace {

const Contender* find_contender(const CellTiming& timing, std::size_t index) {
  for (const Contender& contender : timing.variants) {
    if (contender.index == index) return &contender;
  }
  return nullptr;
}

record::Cell cell_of(const RowFacts& facts, const CellTiming& timing) {
  record::Cell cell = facts.cell;
  cell.cache = timing.cache;
  cell.launch = timing.launch;
  return cell;
}

record::Measurement untimed_row(const RunContext& context, const RowFacts& facts,
                                const CellTiming& timing, std::size_t index) {
  record::Measurement row;
  row.cell = cell_of(facts, timing);
  row.variant = context.variants[index].name;
  row.bytes_read = facts.bytes_read;
  const kernels::Variant& variant = context.variants[index].variant;
  if (variant.traits.reference_line) {
    row.reference_line = true;
    const double share =
        facts.experts ? facts.experts->hit / static_cast<double>(facts.problem.group.experts) : 1.0;
    row.bytes_read += static_cast<std::int64_t>(
        share * static_cast<double>(prepared_of(variant, facts.problem) -
                                    operation::weight_bytes(facts.problem)));
  }
  row.bytes_written = facts.bytes_written;
  row.flops = facts.flops;
  row.experts = facts.experts;
  return row;
}

// What threads of others than `contender` took while nobody had called them. A peer's own samples
// do not tell: its threads may be at work, or be those of a runtime that several peers share. Its
// rivals meet what the program's own variants met.
device::IdleTime idle_time_of(const Contender& contender, const CellTiming& timing) {
  const std::string peer = contender.variant->traits.peer;
  if (peer.empty()) return contender.idle;
  device::IdleTime sum;
  for (const Contender& each : timing.variants) {
    sum.wall_s += each.idle.wall_s;
    for (const auto& [owner, busy_s] : each.idle.busy_s) {
      if (owner != peer && !owner.empty()) sum.busy_s[owner] += busy_s;
    }
  }
  return sum;
}

// Less than this part of a processor is a thread that looks whether there is work.
constexpr double kFewestIdle = 0.05;

void add_idle(record::HostLoad& load, const device::IdleTime& idle) {
  if (idle.wall_s <= 0.0) return;
  double busy_s = 0.0;
  std::vector<std::string> owners;
  for (const auto& [owner, owners_s] : idle.busy_s) {
    busy_s += owners_s;
    if (!owner.empty() && owners_s > kFewestIdle * idle.wall_s) owners.push_back(owner);
  }
  load.idle_threads = std::min<double>(busy_s / idle.wall_s, load.processors);
  if (load.idle_threads < kFewestIdle) load.idle_threads = 0.0;
  if (load.idle_threads > 0.0) load.idle_threads_of = fmt::format("{}", fmt::join(owners, ", "));
}

// What a row says of the processors. A GPU needs its host for the thread that launches.
std::optional<record::HostLoad> load_of(const RunContext& context, const CellTiming& timing,
                                        const Contender& contender) {
  std::optional<record::HostLoad> load = timing.load;
  if (!load) return load;
  add_idle(*load, idle_time_of(contender, timing));
  const record::DeviceInfo& info = context.device.info();
  const int threads = info.kind == record::DeviceKind::kCpu ? info.multiprocessors : 1;
  load->disturbed = depends_on_host(context, timing.launch) && record::is_disturbed(*load, threads);
  return load;
}

record::StopReason stop_reason(const Contender& contender, const CellTiming& timing,
                               const record::RunOptions& options) {
  if (timing.was_interrupted) return record::StopReason::kInterrupted;
  return is_steady(contender.samples_s, options) ? record::StopReason::kPrecision
                                                 : record::StopReason::kTimeLimit;
}

// Why a rate cannot be true; empty when it can.
std::string impossible_rate(const RunContext& context, const RowFacts& facts,
                            const record::Measurement& row) {
  const record::DeviceInfo& info = context.device.info();
  if (!info.peak_bytes_per_s || row.cell.cache != record::CacheMode::kCold) return "";
  const std::int64_t working_set = facts.buffer_sets * (row.bytes_read + row.bytes_written);
  if (working_set < record::kLargeRotation * info.l2_bytes) return "";
  if (*row.bytes_per_s <= record::kPeakTolerance * *info.peak_bytes_per_s) return "";
  return fmt::format(
      "{:.0f} GB/s from cold caches is more than the {:.0f} GB/s that the device's memory can move",
      *row.bytes_per_s / 1e9, *info.peak_bytes_per_s / 1e9);
}

// What the rows of one cell are made of.
struct CellRows {
  const RowFacts& facts;
  const CellTiming& timing;
};

// Adds what follows from the samples to a row whose output is right.
record::Measurement with_times(record::Measurement row, const RunContext& context,
                               const CellRows& cell, const Contender& contender) {
  const auto& [facts, timing] = cell;
  row.status = record::Status::kPassed;
  if (row.verification && row.verification->accuracy) {
    row.verification->accuracy->inputs = facts.inputs;
  }
  row.time_s = statistics::summarize(contender.samples_s);
  row.samples_s = contender.samples_s;
  if (contender.sm_clock_hz.size() == contender.samples_s.size()) {
    row.sm_clock_hz = contender.sm_clock_hz;
  }
  row.launches_per_sample = contender.launches;
  row.stopped_by = stop_reason(contender, timing, context.options);
  row.load = load_of(context, timing, contender);
  row.energy = contender.energy;
  record::derive_rates(row, context.ceilings);
  if (const auto ceiling = stream_ceiling(facts, timing)) {
    row.fraction_of_stream = ceiling->median_s / row.time_s->median;
  }
  row.reason = impossible_rate(context, facts, row);
  if (!row.reason.empty()) row.status = record::Status::kInvalid;
  return row;
}

}  // namespace

RowFacts facts_of(const RunContext& context, const std::string& tensor,
                  const kernels::Problem& problem, int buffer_sets) {
  const operation::Traffic traffic = context.operation.traffic(problem);
  RowFacts facts = {.cell = {.operation = context.operation.name,
                             .tensor = tensor,
                             .device = context.device.info().id,
                             .output_type = problem.output_type,
                             .tokens = problem.tokens},
                    .problem = problem,
                    .bytes_read = traffic.bytes_read,
                    .bytes_written = traffic.bytes_written,
                    .flops = traffic.flops,
                    .buffer_sets = buffer_sets};
  if (const auto routed = operation::routed_traffic(context.operation, problem, context.options)) {
    facts.bytes_read = routed->bytes_read;
    facts.flops = routed->flops;
    facts.experts = record::ExpertsHit{routed->hit, routed->fullest};
  }
  if (context.operation.inputs_seen) {
    facts.inputs =
        context.operation.inputs_seen(problem, context.options, context.device.info().kind);
  }
  return facts;
}

std::vector<record::Measurement> cell_rows(const RunContext& context, const RowFacts& facts,
                                           const std::vector<Verdict>& verdicts,
                                           const CellTiming& timing) {
  std::vector<record::Measurement> rows;
  for (std::size_t index = 0; index < context.variants.size(); ++index) {
    record::Measurement row = untimed_row(context, facts, timing, index);
    const Verdict& verdict = verdicts[index];
    row.verification = verdict.comparison;
    const Contender* contender = find_contender(timing, index);
    if (contender != nullptr && !contender->failure.empty()) {
      row.status = record::Status::kFailed;
      row.reason = contender->failure;
      if (contender->found) row.verification = contender->found;
    } else if (verdict.status != record::Status::kPassed) {
      row.status = verdict.status;
      row.reason = verdict.reason;
    } else if (!timing.unavailable.empty()) {
      row.status = record::Status::kSkipped;
      row.reason = timing.unavailable;
    } else if (!contender->unavailable.empty()) {
      row.status = record::Status::kSkipped;
      row.reason = contender->unavailable;
    } else if (contender->samples_s.size() < kFewestSamples) {
      continue;
    } else {
      row = with_times(std::move(row), context, {facts, timing}, *contender);
    }
    rows.push_back(std::move(row));
  }
  record::derive_speedups(context.options.baseline, rows);
  for (record::Measurement& row : rows) record::mark_throttled(row);
  return rows;
}

std::optional<record::StreamCeiling> stream_ceiling(const RowFacts& facts,
                                                    const CellTiming& timing) {
  std::optional<record::StreamCeiling> best;
  for (const Contender& shape : timing.streams) {
    if (!shape.is_running() || shape.samples_s.size() < kFewestSamples) continue;
    const double median_s = statistics::median(shape.samples_s);
    if (best && best->median_s <= median_s) continue;
    const double bytes = static_cast<double>(facts.bytes_read + facts.bytes_written);
    best = record::StreamCeiling{.cell = cell_of(facts, timing),
                                 .shape = shape.variant->name,
                                 .median_s = median_s,
                                 .bytes_per_s = bytes / median_s};
  }
  return best;
}

}  // namespace nf4bench::bench
