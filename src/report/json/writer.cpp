#include "report/crossover.hpp"
#include "report/json/sections.hpp"

#include <fmt/format.h>

namespace nf4bench::report {
namespace {

json::JsonText interval(const std::optional<statistics::Interval>& value) {
  if (!value) return json::json_null();
  const double ends[] = {value->low, value->high};
  return json::json_numbers(ends);
}

bool accepts(NumberGuard& guard, const char* field,
             const std::optional<statistics::Interval>& value) {
  return !value || guard.accepts(field, {value->low, value->high});
}

json::JsonText tensor_json(const record::ReportTensor& tensor) {
  return json::json_object({
      {"id", json::json_string(tensor.id)},
      {"name", json::json_string(tensor.name)},
      {"source", json::json_string(tensor.source)},
      {"shape", json::json_integers(tensor.geometry.shape)},
      {"elements", json::json_integer(tensor.geometry.elements())},
      {"blocksize", json::json_integer(tensor.geometry.blocksize)},
      {"nested", json::json_bool(tensor.geometry.absmax_kind == nf4::AbsmaxKind::kNested)},
      {"dtype", json::json_string(to_string(tensor.dtype))},
      {"sha256", json::json_string_or_null(tensor.sha256)},
      {"multiplicity", json::json_integer(tensor.multiplicity)},
  });
}

json::JsonText accuracy_json(const std::optional<record::Accuracy>& accuracy, NumberGuard& guard) {
  if (!accuracy || !guard.accepts("accuracy", {accuracy->rms_error, accuracy->max_error})) {
    return json::json_null();
  }
  return json::json_object({
      {"class", json::json_string(to_string(accuracy->weights))},
      {"rms_error", json::json_number(accuracy->rms_error)},
      {"max_error", json::json_number(accuracy->max_error)},
      {"inputs_seen",
       accuracy->inputs
           ? json::json_object({{"alone", json::json_integer(accuracy->inputs->alone)},
                                {"in_exact_sums", json::json_integer(accuracy->inputs->summed)}})
           : json::json_null()},
  });
}

json::JsonText verification_json(const std::optional<record::Verification>& comparison,
                                 NumberGuard& guard) {
  if (!comparison) return json::json_null();
  return json::json_object({
      {"compared", json::json_integer(comparison->compared)},
      {"mismatches", json::json_integer(comparison->mismatches)},
      {"first_mismatch", comparison->first_mismatch
                             ? json::json_integer(*comparison->first_mismatch)
                             : json::json_null()},
      {"max_ulp", json::json_unsigned(comparison->max_ulp)},
      {"accuracy", accuracy_json(comparison->accuracy, guard)},
  });
}

json::JsonText time_json(const std::optional<statistics::Summary>& time, NumberGuard& guard) {
  if (!time) return json::json_null();
  const statistics::Summary& s = *time;
  if (!guard.accepts("time_s", {s.median, s.mean, s.min, s.p05, s.p95, s.mad}) ||
      !accepts(guard, "time_s", s.ci95)) {
    return json::json_null();
  }
  return json::json_object({
      {"median", json::json_number(s.median)},
      {"mean", json::json_number(s.mean)},
      {"min", json::json_number(s.min)},
      {"p05", json::json_number(s.p05)},
      {"p95", json::json_number(s.p95)},
      {"mad", json::json_number(s.mad)},
      {"ci95", interval(s.ci95)},
  });
}

json::JsonText speedup_json(const std::optional<record::Speedup>& speedup, NumberGuard& guard) {
  if (!speedup) return json::json_null();
  if (!guard.accepts("speedup", {speedup->ratio}) || !accepts(guard, "speedup", speedup->ci95)) {
    return json::json_null();
  }
  return json::json_object({
      {"baseline", json::json_string(speedup->baseline)},
      {"ratio", json::json_number(speedup->ratio)},
      {"ci95", interval(speedup->ci95)},
  });
}

json::JsonText alone_json(const std::optional<record::Alone>& alone, NumberGuard& guard) {
  if (!alone) return json::json_null();
  if (!guard.accepts("alone_s", {alone->median_s}) || !accepts(guard, "alone_s", alone->ci95)) {
    return json::json_null();
  }
  return json::json_object({
      {"median", json::json_number(alone->median_s)},
      {"ci95", interval(alone->ci95)},
      {"sm_clock_hz", guard.number("alone_s.sm_clock_hz", alone->sm_clock_hz)},
  });
}

json::JsonText load_json(const std::optional<record::HostLoad>& load, NumberGuard& guard) {
  if (!load || !guard.accepts("load", {load->others, load->stolen})) return json::json_null();
  return json::json_object({
      {"processors", json::json_integer(load->processors)},
      {"others", json::json_number(load->others)},
      {"stolen", json::json_number(load->stolen)},
      {"involuntary_switches", json::json_integer(load->involuntary_switches)},
      {"disturbed", json::json_bool(load->disturbed)},
  });
}

json::JsonText energy_json(const std::optional<record::Energy>& energy, NumberGuard& guard) {
  if (!energy || !guard.accepts("energy", {energy->power_w, energy->seconds, energy->error})) {
    return json::json_null();
  }
  const bool is_known = energy->joules.has_value();
  const auto if_known = [&](double value) {
    return is_known ? json::json_number(value) : json::json_null();
  };
  return json::json_object({
      {"joules", guard.number("energy.joules", energy->joules)},
      {"power_w", if_known(energy->power_w)},
      {"seconds", if_known(energy->seconds)},
      {"calls", json::json_integer(energy->calls)},
      {"error", if_known(energy->error)},
      {"unavailable", json::json_string_or_null(energy->unavailable)},
  });
}

// Where nothing is multiplied with tokens, or nothing is multiplied at all, there is no number.
json::JsonText tokens_json(const record::Cell& cell) {
  return cell.tokens > 0 ? json::json_integer(cell.tokens) : json::json_null();
}

// What was not measured, or is not there, is zero in memory and null in the report.
std::optional<double> if_measured(double value) {
  return value == 0.0 ? std::nullopt : std::optional(value);
}

json::JsonText digest_json(const record::SampleDigest& digest, NumberGuard& guard) {
  return json::json_object({
      {"count", json::json_integer(digest.count)},
      {"log_error", guard.number("sample_digest.log_error", digest.log_error)},
      {"mean_clock_hz", guard.number("sample_digest.mean_clock_hz", digest.mean_clock_hz)},
      {"median_clock_hz", guard.number("sample_digest.median_clock_hz", digest.median_clock_hz)},
  });
}

json::JsonText measurement_json(const record::Measurement& m, NumberGuard& guard) {
  std::vector<json::JsonMember> members = {
      {"tensor", json::json_string(m.cell.tensor)},
      {"operation", json::json_string(m.cell.operation)},
      {"variant", json::json_string(m.variant)},
      {"device", json::json_string(m.cell.device)},
      {"output_dtype", json::json_string(to_string(m.cell.output_type))},
      {"tokens", tokens_json(m.cell)},
      {"cache", json::json_string(to_string(m.cell.cache))},
      {"launch", json::json_string(to_string(m.cell.launch))},
      {"status", json::json_string(to_string(m.status))},
      {"reason", json::json_string_or_null(m.reason)},
      {"verification", verification_json(m.verification, guard)},
      {"time_s", time_json(m.time_s, guard)},
      {"bytes", json::json_object({{"read", json::json_integer(m.bytes_read)},
                                   {"written", json::json_integer(m.bytes_written)}})},
      {"bytes_per_s", guard.number("bytes_per_s", m.bytes_per_s)},
      {"flops", guard.number("flops", if_measured(m.flops))},
      {"flops_per_s", guard.number("flops_per_s", m.flops_per_s)},
      {"fraction_of_roof",
       guard.number("fraction_of_roof", m.roof ? std::optional(m.roof->fraction) : std::nullopt)},
      {"roof_limit", m.roof ? json::json_string(to_string(m.roof->limit)) : json::json_null()},
      {"fraction_of_copy", guard.number("fraction_of_copy", m.fraction_of_copy)},
      {"fraction_of_stream", guard.number("fraction_of_stream", m.fraction_of_stream)},
      {"speedup", speedup_json(m.speedup, guard)},
      {"launches_per_sample", json::json_integer(m.launches_per_sample)},
      {"stopped_by",
       m.stopped_by ? json::json_string(to_string(*m.stopped_by)) : json::json_null()},
      {"samples_s", guard.numbers("samples_s", m.samples_s)},
      {"sm_clock_hz", guard.numbers("sm_clock_hz", m.sm_clock_hz)},
      {"throttled_samples",
       m.throttled_samples ? json::json_integer(*m.throttled_samples) : json::json_null()},
      {"alone_s", alone_json(m.alone, guard)},
      {"load", load_json(m.load, guard)},
      {"reference_line", json::json_bool(m.reference_line)},
      {"energy", energy_json(m.energy, guard)},
  };
  if (m.digest) members.push_back({"sample_digest", digest_json(*m.digest, guard)});
  return json::json_object(members);
}

json::JsonText stream_json(const record::StreamCeiling& stream, NumberGuard& guard) {
  return json::json_object({
      {"tensor", json::json_string(stream.cell.tensor)},
      {"operation", json::json_string(stream.cell.operation)},
      {"output_dtype", json::json_string(to_string(stream.cell.output_type))},
      {"tokens", tokens_json(stream.cell)},
      {"cache", json::json_string(to_string(stream.cell.cache))},
      {"launch", json::json_string(to_string(stream.cell.launch))},
      {"shape", json::json_string(stream.shape)},
      {"median_s", guard.number("median_s", if_measured(stream.median_s))},
      {"bytes_per_s", guard.number("bytes_per_s", if_measured(stream.bytes_per_s))},
  });
}

template <typename Item, typename Function>
json::JsonText guarded_array(const char* name, const std::vector<Item>& items, NumberGuard& guard,
                             Function&& to_text) {
  std::vector<json::JsonText> texts;
  texts.reserve(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    guard.enter(fmt::format("{}[{}]", name, i));
    texts.push_back(to_text(items[i], guard));
  }
  return json::json_array(texts);
}

// Matrix products have these types.
constexpr nf4::OutputType kProductTypes[] = {nf4::OutputType::kFloat16, nf4::OutputType::kBfloat16};

json::JsonText flops_json(const record::Ceilings& ceilings, NumberGuard& guard) {
  if (ceilings.flops_per_s.empty()) return json::json_null();
  std::vector<json::JsonMember> members;
  for (const nf4::OutputType type : kProductTypes) {
    const auto rate = ceilings.flops_per_s.find(type);
    const bool is_known = rate != ceilings.flops_per_s.end();
    members.push_back(
        {to_string(type),
         guard.number("flops_per_s", is_known ? std::optional(rate->second) : std::nullopt)});
  }
  return json::json_object(members);
}

json::JsonText ceilings_json(const record::Report& report, NumberGuard& guard) {
  const record::Ceilings& c = report.ceilings;
  const json::JsonText stream =
      guarded_array("ceilings.stream", report.stream_ceilings, guard, stream_json);
  guard.enter("ceilings");
  return json::json_object({
      {"copy_bytes", json::json_integer(c.copy_bytes)},
      {"copy_bytes_per_s", guard.number("copy_bytes_per_s", if_measured(c.copy_bytes_per_s))},
      {"write_bytes", json::json_integer(c.write_bytes)},
      {"write_bytes_per_s", guard.number("write_bytes_per_s", if_measured(c.write_bytes_per_s))},
      {"event_overhead_s", guard.number("event_overhead_s", c.event_overhead_s)},
      {"launch_overhead_s", guard.number("launch_overhead_s", c.launch_overhead_s)},
      {"flops_per_s", flops_json(c, guard)},
      {"stream", stream},
  });
}

json::JsonText variant_summary_json(const record::VariantSummary& s, NumberGuard& guard) {
  const bool has_speedup =
      s.speedup_geomean && s.speedup_min && s.speedup_max &&
      guard.accepts("speedup", {*s.speedup_geomean, *s.speedup_min, *s.speedup_max});
  const auto speedup = [&] {
    return json::json_object({{"geomean", json::json_number(*s.speedup_geomean)},
                              {"min", json::json_number(*s.speedup_min)},
                              {"max", json::json_number(*s.speedup_max)}});
  };
  return json::json_object({
      {"variant", json::json_string(s.variant)},
      {"operation", json::json_string(s.cell.operation)},
      {"output_dtype", json::json_string(to_string(s.cell.output_type))},
      {"tokens", tokens_json(s.cell)},
      {"cache", json::json_string(to_string(s.cell.cache))},
      {"launch", json::json_string(to_string(s.cell.launch))},
      {"cells", json::json_integer(s.cells)},
      {"speedup", has_speedup ? speedup() : json::json_null()},
      {"model_time_s", guard.number("model_time_s", s.model_time_s)},
      {"tokens_per_s", guard.number("tokens_per_s", s.tokens_per_s)},
      {"model_energy_j", guard.number("model_energy_j", s.model_energy_j)},
      {"model_speedup", guard.number("model_speedup", s.model_speedup)},
  });
}

json::JsonText stretch_json(const Stretch& stretch) {
  return json::json_object({
      {"variant", json::json_string_or_null(stretch.variant)},
      {"first", json::json_integer(stretch.first)},
      {"last", json::json_integer(stretch.last)},
  });
}

json::JsonText crossover_json(const Crossover& crossover) {
  return json::json_object({
      {"tensor", json::json_string(crossover.cell.tensor)},
      {"operation", json::json_string(crossover.cell.operation)},
      {"output_dtype", json::json_string(to_string(crossover.cell.output_type))},
      {"cache", json::json_string(to_string(crossover.cell.cache))},
      {"launch", json::json_string(to_string(crossover.cell.launch))},
      {"fastest", json::json_array_of(crossover.stretches, stretch_json)},
  });
}

json::JsonText summary_json(const record::Report& report, NumberGuard& guard) {
  return json::json_object({
      {"tensors_verified", json::json_integer(report.tensors_verified)},
      {"variants",
       guarded_array("summary.variants", summarize_variants(report), guard, variant_summary_json)},
      {"crossover", json::json_array_of(find_crossovers(report), crossover_json)},
  });
}

json::JsonText warnings_json(const record::Report& report, const NumberGuard& guard) {
  std::vector<std::string> warnings = report.warnings;
  warnings.insert(warnings.end(), guard.notes().begin(), guard.notes().end());
  return json::json_strings(warnings);
}

}  // namespace

std::string to_json(const record::Report& report) {
  NumberGuard guard;
  std::vector<json::JsonMember> members = {
      {"schema", json::json_string(record::kReportSchema)},
      {"schema_version", json::json_string(record::kReportSchemaVersion)},
      {"complete", json::json_bool(report.complete)},
      {"tool", tool_json(report.tool)},
      {"command", json::json_strings(report.command)},
      {"started_at", json::json_string_or_null(report.started_at)},
      {"finished_at", json::json_string_or_null(report.finished_at)},
      {"host", host_json(report.host)},
      {"shard", report.shard ? shard_json(*report.shard) : json::json_null()},
      {"device", device_json(report, guard)},
      {"settings", settings_json(report.settings, guard)},
      {"tensors", json::json_array_of(report.tensors, tensor_json)},
      {"variants", variants_json(report.variants)},
      {"measurements", guarded_array("measurements", report.measurements, guard, measurement_json)},
      {"ceilings", ceilings_json(report, guard)},
      {"summary", summary_json(report, guard)},
  };
  members.push_back({"warnings", warnings_json(report, guard)});
  return json::json_object(members).text + "\n";
}

}  // namespace nf4bench::report
