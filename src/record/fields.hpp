#pragma once

// What a report says, each field once: its name, its member, and what else Field tells of it. The
// writer, the reader, the CSV export and the test that holds docs/report.schema.json to all this
// walk it. A new field is a line here, a line in its struct and one in the schema.

#include "base/field.hpp"
#include "record/report.hpp"

#include <limits>
#include <optional>

namespace nf4bench {

namespace nf4 {

constexpr auto words(OutputType /*any*/) {
  using enum OutputType;
  return std::to_array<Word<OutputType>>({{kFloat16, to_string(kFloat16)},
                                          {kBfloat16, to_string(kBfloat16)},
                                          {kFloat32, to_string(kFloat32)}});
}

constexpr auto words(AbsmaxKind /*any*/) {
  using enum AbsmaxKind;
  return std::to_array<Word<AbsmaxKind>>(
      {{kPlain, to_string(kPlain)}, {kNested, to_string(kNested)}});
}

}  // namespace nf4

namespace statistics {

template <Is<Summary> Time, class F>
void fields(Time& t, F&& f) {
  f("median", t.median);
  f("mean", t.mean);
  f("min", t.min);
  f("p05", t.p05);
  f("p95", t.p95);
  f("mad", t.mad);
  f("ci95", t.ci95);
}

}  // namespace statistics

namespace record {

// Members that the JSON keeps in an object of their own.
template <class Owner>
struct ActivationsOf {
  Owner& settings;
};
template <class Owner>
struct BytesOf {
  Owner& measurement;
};
template <class Owner>
struct DeviceOf {
  Owner& report;
};
template <class Owner>
struct CeilingsOf {
  Owner& report;
};
template <class Owner>
struct SummaryOf {
  Owner& report;
  const Summary& summary;
};

// A report with what follows from it.
template <class Owner>
struct DocumentOf {
  Owner& report;
  const Summary& summary;
};

// Ceilings::flops_per_s of the types that products have.
struct ProductRates {
  std::optional<double> float16;
  std::optional<double> bfloat16;
};
std::optional<ProductRates> product_rates(const Ceilings& ceilings);
void set_product_rates(Ceilings& ceilings, const std::optional<ProductRates>& rates);

// A roof is both or none.
void set_roof(Measurement& measurement, const std::optional<double>& fraction,
              const std::optional<RoofLimit>& limit);

// Of VariantSummary.
struct SpeedupRange {
  double geomean = 0.0;
  double min = 0.0;
  double max = 0.0;
};

template <Is<ToolInfo> Tool, class F>
void fields(Tool& t, F&& f) {
  f("name", kToolName);
  f("version", t.version);
  f("git_commit", t.git_commit, kOrNull);
  f("git_dirty", t.git_dirty);
  f("build_type", t.build_type);
  f("compiler", t.compiler);
  f("cuda_architectures", t.cuda_architectures, kOrNull);
}

template <Is<HostInfo> Host, class F>
void fields(Host& h, F&& f) {
  f("name", h.name);
  f("os", h.os);
  f("kernel", h.kernel);
  f("cpu", h.cpu);
  f("threads", h.threads);
  f("memory_bytes", h.memory_bytes);
}

template <Is<Shard> Task, class F>
void fields(Task& s, F&& f) {
  f("index", s.index);
  f("count", s.count, kOrNull);
  f("split", s.split);
  f("from", s.origin);
}

template <Is<DeviceState> State, class F>
void fields(State& s, F&& f) {
  constexpr double kAbsoluteZero_c = -273.15;
  f("sm_clock_hz", s.sm_clock_hz);
  f("max_sm_clock_hz", s.max_sm_clock_hz);
  f("memory_clock_hz", s.memory_clock_hz);
  f("power_w", s.power_w);
  f("power_limit_w", s.power_limit_w);
  f("temperature_c", s.temperature_c, Field{.low = kAbsoluteZero_c});
  f("persistence", s.persistence);
  f("throttle_reasons", s.throttle_reasons);
  f("other_processes", s.other_processes, kLater);
  f("unavailable", s.unavailable, kOrNull);
}

template <class Owner, class F>
void fields(const DeviceOf<Owner>& part, F&& f) {
  auto& d = part.report.device;
  f("id", d.id);
  f("kind", d.kind);
  f("name", d.name);
  f("compute_capability", d.compute_capability, kOrNull);
  f("multiprocessors", d.multiprocessors);
  f("l2_bytes", d.l2_bytes);
  f("memory_bytes", d.memory_bytes);
  f("peak_bytes_per_s", d.peak_bytes_per_s);
  f("uuid", d.uuid, kOrNull);
  f("pci_id", d.pci_id, kOrNull);
  f("driver", d.driver, kOrNull);
  f("runtime", d.runtime, kOrNull);
  f("ecc", d.ecc);
  f("mig", d.mig);
  f("simd", d.simd, kOrNull);
  f("state_before", part.report.state_before);
  f("state_after", part.report.state_after);
  f("idle_power_w", part.report.idle_power_w, kLater);
}

template <Is<MeasuredOperation> Operation, class F>
void fields(Operation& o, F&& f) {
  f("name", o.name, Field{.is_word = true});
  f("baseline", o.baseline, kOrNull);
}

template <class Owner, class F>
void fields(const ActivationsOf<Owner>& part, F&& f) {
  f("kind", part.settings.activations);
  f("file", part.settings.activations_file, kOrNull);
  f("cold", part.settings.cold_activations);
}

template <Is<ExpertChoice> Choice, class F>
void fields(Choice& c, F&& f) {
  f("top_k", c.top_k, kOrNull);
  f("routing", c.routing);
}

template <Is<Settings> Asked, class F>
void fields(Asked& s, F&& f) {
  f("operations", s.operations, kLater);
  f("output_dtypes", s.output_types);
  f("caches", s.caches);
  f("launches", s.launches);
  f("baseline", s.baseline, kOrNull);
  f("caches_rotated", s.caches_rotated, kLater);
  f("min_samples", s.min_samples);
  f("max_time_s", s.max_time_s);
  f("precision", s.precision);
  f("min_sample_s", s.min_sample_s);
  f("duty", s.duty, kLater);
  f("seed", s.seed);
  f("verify", s.verify);
  f("measure_stream_shapes", s.measure_stream_shapes);
  f("tokens", s.tokens, kLater);
  ActivationsOf<Asked> activations = {s};
  f("activations", activations, kLater);
  f("experts", s.experts, kLater);
  f("together", s.together, kLater);
}

template <Is<Stack> Experts, class F>
void fields(Experts& s, F&& f) {
  f("part", s.part);
  f("top_k", s.top_k);
  f("activation", s.activation, {.later = true, .or_none = true});
  f("transposed", s.transposed, {.later = true, .or_none = true});
}

template <Is<ReportTensor> Tensor, class F>
void fields(Tensor& t, F&& f) {
  f("id", t.id);
  f("name", t.name);
  f("source", t.source);
  f("shape", t.geometry.shape);
  const std::int64_t elements = t.geometry.elements();
  f("elements", elements);
  f("blocksize", t.geometry.blocksize);
  bool nested = t.geometry.absmax_kind == nf4::AbsmaxKind::kNested;
  f("nested", nested);
  f("dtype", t.dtype);
  f("sha256", t.sha256, kOrNull);
  f("multiplicity", t.multiplicity);
  f("stack", t.geometry.stack, kLater);
  if constexpr (!std::is_const_v<Tensor>) {
    t.geometry.absmax_kind = nested ? nf4::AbsmaxKind::kNested : nf4::AbsmaxKind::kPlain;
  }
}

template <Is<PeerFile> Peer, class F>
void fields(Peer& p, F&& f) {
  f("name", p.name);
  f("file", p.file);
  f("bytes", p.bytes);
  f("sha256", p.sha256, kOrNull);
  f("modified_at", p.modified_at, kOrNull);
}

template <Is<ReportVariant> Variant, class F>
void fields(Variant& v, F&& f) {
  f("name", v.name);
  f("operation", v.operation, Field{.later = true, .is_word = true});
  f("summary", v.summary);
  f("launches", v.launches);
  f("inline_ptx", v.inline_ptx);
  f("cache_hints", v.cache_hints);
  f("persistent", v.persistent);
  f("mirrors", v.mirrors);
  f("compiled_from", v.compiled_from, Field{.later = true, .or_null = true});
}

template <Is<InputsSeen> Seen, class F>
void fields(Seen& s, F&& f) {
  f("alone", s.alone);
  f("in_exact_sums", s.summed);
}

template <Is<Accuracy> Errors, class F>
void fields(Errors& a, F&& f) {
  f("class", a.weights);
  f("rms_error", a.rms_error);
  f("max_error", a.max_error);
  f("inputs_seen", a.inputs, kLater);
}

template <Is<FirstWrong> Wrong, class F>
void fields(Wrong& w, F&& f) {
  f("element", w.element);
  f("row", w.row);
  f("column", w.column);
  f("block", w.block);
  f("nibble", w.nibble);
  f("scale", w.scale, Field{.low = -std::numeric_limits<double>::infinity()});
  f("wanted_bits", w.wanted_bits, kOrNull);
  f("wanted", w.wanted, Field{.low = -std::numeric_limits<double>::infinity()});
  f("got_bits", w.got_bits);
  f("got", w.got, Field{.low = -std::numeric_limits<double>::infinity()});
  f("pattern", w.pattern);
}

template <Is<Verification> Outcome, class F>
void fields(Outcome& v, F&& f) {
  f("compared", v.compared);
  f("mismatches", v.mismatches);
  f("first_mismatch", v.first_mismatch);
  f("max_ulp", v.max_ulp);
  f("accuracy", v.accuracy, kLater);
  f("first_wrong", v.first_wrong, Field{.or_none = true});
  f("fault", v.fault, Field{.or_none = true});
}

template <Is<Speedup> Ratio, class F>
void fields(Ratio& s, F&& f) {
  f("baseline", s.baseline);
  f("ratio", s.ratio);
  f("ci95", s.ci95);
}

template <Is<ExpertsHit> Load, class F>
void fields(Load& e, F&& f) {
  f("hit", e.hit);
  f("fullest_rows", e.fullest_rows);
}

template <Is<Alone> Time, class F>
void fields(Time& a, F&& f) {
  f("median", a.median_s);
  f("ci95", a.ci95);
  f("sm_clock_hz", a.sm_clock_hz, kLater);
}

template <Is<HostLoad> Load, class F>
void fields(Load& l, F&& f) {
  f("processors", l.processors);
  f("others", l.others);
  f("idle_threads", l.idle_threads, kLater);
  f("idle_threads_of", l.idle_threads_of, Field{.later = true, .or_null = true});
  f("stolen", l.stolen);
  f("involuntary_switches", l.involuntary_switches);
  f("disturbed", l.disturbed);
}

template <Is<Energy> Batch, class F>
void fields(Batch& e, F&& f) {
  f("joules", e.joules);
  f("power_w", e.power_w, kOrNull);
  f("seconds", e.seconds, kOrNull);
  f("calls", e.calls);
  f("error", e.error, kOrNull);
  f("unavailable", e.unavailable, kOrNull);
}

template <Is<Stall> Wait, class F>
void fields(Wait& s, F&& f) {
  f("reason", s.reason, Field{.is_word = true});
  f("cycles", s.cycles);
}

template <Is<Counters> Counted, class F>
void fields(Counted& c, F&& f) {
  f("kernels", c.kernels);
  f("seconds", c.seconds);
  f("dram_fraction", c.dram_fraction);
  f("dram_bytes_read", c.dram_bytes_read);
  f("dram_bytes_written", c.dram_bytes_written);
  f("l2_fraction", c.l2_fraction);
  f("l2_hit_fraction", c.l2_hit_fraction);
  f("shared_conflicts", c.shared_conflicts);
  f("shared_wavefronts", c.shared_wavefronts);
  f("issue_fraction", c.issue_fraction);
  f("tensor_fraction", c.tensor_fraction);
  f("alu_fraction", c.alu_fraction);
  f("warps_fraction", c.warps_fraction);
  f("instructions", c.instructions);
  f("stalls", c.stalls);
  f("issue_cycles", c.issue_cycles);
  f("launch", c.launch, kLater);
  f("limit", c.limit);
  f("judgement", c.judgement, kOrNull);
  f("unavailable", c.unavailable, kOrNull);
}

template <Is<SampleDigest> Digest, class F>
void fields(Digest& d, F&& f) {
  f("count", d.count);
  f("log_error", d.log_error);
  f("mean_clock_hz", d.mean_clock_hz);
  f("median_clock_hz", d.median_clock_hz);
}

template <class Owner, class F>
void fields(const BytesOf<Owner>& part, F&& f) {
  f("read", part.measurement.bytes_read);
  f("written", part.measurement.bytes_written);
}

template <Is<Measurement> Row, class F>
void roof_fields(Row& m, F&& f) {
  std::optional<double> fraction;
  std::optional<RoofLimit> limit;
  if (m.roof) fraction = m.roof->fraction;
  if (m.roof) limit = m.roof->limit;
  f("fraction_of_roof", fraction, kLater);
  f("roof_limit", limit, kLater);
  if constexpr (!std::is_const_v<Row>) set_roof(m, fraction, limit);
}

template <Is<Measurement> Row, class F>
void fields(Row& m, F&& f) {
  f("tensor", m.cell.tensor);
  f("operation", m.cell.operation, Field{.is_word = true});
  f("variant", m.variant);
  f("device", m.cell.device);
  f("output_dtype", m.cell.output_type);
  f("tokens", m.cell.tokens, Field{.later = true, .or_null = true});
  f("cache", m.cell.cache);
  f("launch", m.cell.launch);
  f("status", m.status);
  f("reason", m.reason, kOrNull);
  f("verification", m.verification);
  f("time_s", m.time_s);
  BytesOf<Row> bytes = {m};
  f("bytes", bytes);
  f("bytes_per_s", m.bytes_per_s);
  f("flops", m.flops, Field{.later = true, .or_null = true});
  f("flops_per_s", m.flops_per_s, kLater);
  f("experts", m.experts, kLater);
  roof_fields(m, f);
  f("fraction_of_copy", m.fraction_of_copy);
  f("fraction_of_stream", m.fraction_of_stream);
  f("speedup", m.speedup);
  f("launches_per_sample", m.launches_per_sample);
  f("stopped_by", m.stopped_by);
  f("samples_s", m.samples_s);
  f("sm_clock_hz", m.sm_clock_hz);
  f("throttled_samples", m.throttled_samples, kLater);
  f("alone_s", m.alone, kLater);
  f("load", m.load, kLater);
  f("reference_line", m.reference_line, kLater);
  f("energy", m.energy, kLater);
  f("counters", m.counters, Field{.or_none = true});
  f("sample_digest", m.digest, Field{.or_none = true});
}

template <Is<StreamCeiling> Stream, class F>
void fields(Stream& s, F&& f) {
  f("tensor", s.cell.tensor);
  f("operation", s.cell.operation, Field{.later = true, .is_word = true});
  f("output_dtype", s.cell.output_type);
  f("tokens", s.cell.tokens, Field{.later = true, .or_null = true});
  f("cache", s.cell.cache);
  f("launch", s.cell.launch);
  f("shape", s.shape);
  f("median_s", s.median_s, kOrNull);
  f("bytes_per_s", s.bytes_per_s, kOrNull);
}

template <Is<ProductRates> Rates, class F>
void fields(Rates& r, F&& f) {
  f("float16", r.float16);
  f("bfloat16", r.bfloat16);
}

// As one field that is null without any rate.
template <Is<Ceilings> Limits, class F>
void rate_fields(Limits& c, F&& f) {
  std::optional<ProductRates> rates = product_rates(c);
  f("flops_per_s", rates, kLater);
  if constexpr (!std::is_const_v<Limits>) set_product_rates(c, rates);
}

template <class Owner, class F>
void fields(const CeilingsOf<Owner>& part, F&& f) {
  auto& c = part.report.ceilings;
  f("copy_bytes", c.copy_bytes);
  f("copy_bytes_per_s", c.copy_bytes_per_s, kOrNull);
  f("write_bytes", c.write_bytes);
  f("write_bytes_per_s", c.write_bytes_per_s, kOrNull);
  f("event_overhead_s", c.event_overhead_s);
  f("launch_overhead_s", c.launch_overhead_s);
  rate_fields(c, f);
  f("stream", part.report.stream_ceilings);
}

template <Is<SpeedupRange> Range, class F>
void fields(Range& r, F&& f) {
  f("geomean", r.geomean);
  f("min", r.min);
  f("max", r.max);
}

template <Is<VariantSummary> Total, class F>
void fields(Total& s, F&& f) {
  f("variant", s.variant);
  f("operation", s.cell.operation);
  f("output_dtype", s.cell.output_type);
  f("tokens", s.cell.tokens, Field{.later = true, .or_null = true});
  f("cache", s.cell.cache);
  f("launch", s.cell.launch);
  f("cells", s.cells);
  std::optional<SpeedupRange> speedup;
  if (s.speedup_geomean && s.speedup_min && s.speedup_max) {
    speedup = SpeedupRange{*s.speedup_geomean, *s.speedup_min, *s.speedup_max};
  }
  f("speedup", speedup);
  f("model_time_s", s.model_time_s);
  f("tokens_per_s", s.tokens_per_s, kLater);
  f("model_energy_j", s.model_energy_j, kLater);
  f("model_speedup", s.model_speedup);
}

template <Is<Stretch> Tokens, class F>
void fields(Tokens& s, F&& f) {
  f("variant", s.variant, kOrNull);
  f("first", s.first);
  f("last", s.last);
}

template <Is<Crossover> Change, class F>
void fields(Change& c, F&& f) {
  f("tensor", c.cell.tensor);
  f("operation", c.cell.operation);
  f("output_dtype", c.cell.output_type);
  f("cache", c.cell.cache);
  f("launch", c.cell.launch);
  f("fastest", c.stretches);
}

template <class Owner, class F>
void fields(const SummaryOf<Owner>& part, F&& f) {
  f("tensors_verified", part.report.tensors_verified);
  f("variants", part.summary.variants);
  f("crossover", part.summary.crossovers, kLater);
}

template <class Owner, class F>
void fields(const DocumentOf<Owner>& document, F&& f) {
  auto& r = document.report;
  f("schema", kReportSchema);
  f("schema_version", kReportSchemaVersion);
  f("complete", r.complete);
  f("tool", r.tool);
  f("command", r.command);
  f("started_at", r.started_at, kOrNull);
  f("finished_at", r.finished_at, kOrNull);
  f("host", r.host);
  f("shard", r.shard, kLater);
  DeviceOf<Owner> device = {r};
  f("device", device);
  f("settings", r.settings);
  f("tensors", r.tensors);
  f("peers", r.peers, kLater);
  f("variants", r.variants, kLater);
  f("measurements", r.measurements);
  CeilingsOf<Owner> ceilings = {r};
  f("ceilings", ceilings);
  SummaryOf<Owner> summary = {r, document.summary};
  f("summary", summary);
  f("warnings", r.warnings);
}

}  // namespace record
}  // namespace nf4bench
