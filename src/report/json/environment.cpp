#include "report/json/sections.hpp"

namespace nf4bench::report {
namespace {

template <typename Enum>
json::JsonText names(const std::vector<Enum>& values) {
  return json::json_array_of(values,
                             [](Enum value) { return json::json_string(to_string(value)); });
}

json::JsonText optional_bool(std::optional<bool> value) {
  return value ? json::json_bool(*value) : json::json_null();
}

json::JsonText optional_integer(std::optional<int> value) {
  return value ? json::json_integer(*value) : json::json_null();
}

json::JsonText state_json(const record::DeviceState& state, NumberGuard& guard) {
  return json::json_object({
      {"sm_clock_hz", guard.number("sm_clock_hz", state.sm_clock_hz)},
      {"max_sm_clock_hz", guard.number("max_sm_clock_hz", state.max_sm_clock_hz)},
      {"memory_clock_hz", guard.number("memory_clock_hz", state.memory_clock_hz)},
      {"power_w", guard.number("power_w", state.power_w)},
      {"power_limit_w", guard.number("power_limit_w", state.power_limit_w)},
      {"temperature_c", guard.number("temperature_c", state.temperature_c)},
      {"persistence", optional_bool(state.persistence)},
      {"throttle_reasons", json::json_strings(state.throttle_reasons)},
      {"other_processes", optional_integer(state.other_processes)},
      {"unavailable", json::json_string_or_null(state.unavailable)},
  });
}

json::JsonText operation_json(const record::MeasuredOperation& operation) {
  return json::json_object({
      {"name", json::json_string(operation.name)},
      {"baseline", json::json_string_or_null(operation.baseline)},
  });
}

// What matters to operations with tokens alone.
json::JsonText activations_json(const record::Settings& settings) {
  return json::json_object({
      {"kind", json::json_string(to_string(settings.activations))},
      {"file", json::json_string_or_null(settings.activations_file)},
      {"cold", json::json_bool(settings.cold_activations)},
  });
}

}  // namespace

json::JsonText tool_json(const record::ToolInfo& tool) {
  return json::json_object({
      {"name", json::json_string("nf4bench")},
      {"version", json::json_string(tool.version)},
      {"git_commit", json::json_string_or_null(tool.git_commit)},
      {"git_dirty", json::json_bool(tool.git_dirty)},
      {"build_type", json::json_string(tool.build_type)},
      {"compiler", json::json_string(tool.compiler)},
      {"cuda_architectures", json::json_string_or_null(tool.cuda_architectures)},
  });
}

json::JsonText shard_json(const record::Shard& shard) {
  return json::json_object({
      {"index", json::json_integer(shard.index)},
      {"count", shard.count > 0 ? json::json_integer(shard.count) : json::json_null()},
      {"split", json::json_bool(shard.split)},
      {"from", json::json_string(shard.origin)},
  });
}

json::JsonText host_json(const record::HostInfo& host) {
  return json::json_object({
      {"name", json::json_string(host.name)},
      {"os", json::json_string(host.os)},
      {"kernel", json::json_string(host.kernel)},
      {"cpu", json::json_string(host.cpu)},
      {"threads", json::json_integer(host.threads)},
      {"memory_bytes", json::json_integer(host.memory_bytes)},
  });
}

json::JsonText device_json(const record::Report& report, NumberGuard& guard) {
  const record::DeviceInfo& device = report.device;
  guard.enter("device");
  const json::JsonText peak = guard.number("peak_bytes_per_s", device.peak_bytes_per_s);
  guard.enter("device.state_before");
  const json::JsonText before = state_json(report.state_before, guard);
  guard.enter("device.state_after");
  const json::JsonText after =
      report.state_after ? state_json(*report.state_after, guard) : json::json_null();
  guard.enter("device");
  const json::JsonText idle = guard.number("idle_power_w", report.idle_power_w);
  const int capability = device.compute_capability;
  return json::json_object({
      {"id", json::json_string(device.id)},
      {"kind", json::json_string(device.kind == record::DeviceKind::kCuda ? "cuda" : "cpu")},
      {"name", json::json_string(device.name)},
      {"compute_capability", capability > 0 ? json::json_integer(capability) : json::json_null()},
      {"multiprocessors", json::json_integer(device.multiprocessors)},
      {"l2_bytes", json::json_integer(device.l2_bytes)},
      {"memory_bytes", json::json_integer(device.memory_bytes)},
      {"peak_bytes_per_s", peak},
      {"uuid", json::json_string_or_null(device.uuid)},
      {"pci_id", json::json_string_or_null(device.pci_id)},
      {"driver", json::json_string_or_null(device.driver)},
      {"runtime", json::json_string_or_null(device.runtime)},
      {"ecc", optional_bool(device.ecc)},
      {"mig", optional_bool(device.mig)},
      {"simd", json::json_string_or_null(device.simd)},
      {"state_before", before},
      {"state_after", after},
      {"idle_power_w", idle},
  });
}

json::JsonText settings_json(const record::Settings& settings, NumberGuard& guard) {
  guard.enter("settings");
  return json::json_object({
      {"operations", json::json_array_of(settings.operations, operation_json)},
      {"output_dtypes", names(settings.output_types)},
      {"caches", names(settings.caches)},
      {"launches", names(settings.launches)},
      {"baseline", json::json_string_or_null(settings.baseline)},
      {"caches_rotated", json::json_integer(settings.caches_rotated)},
      {"min_samples", json::json_integer(settings.min_samples)},
      {"max_time_s", guard.number("max_time_s", settings.max_time_s)},
      {"precision", guard.number("precision", settings.precision)},
      {"min_sample_s", guard.number("min_sample_s", settings.min_sample_s)},
      {"seed", json::json_unsigned(settings.seed)},
      {"verify",
       json::json_string(settings.verify == record::VerifyScope::kAll ? "all" : "sampled")},
      {"measure_stream_shapes", json::json_bool(settings.measure_stream_shapes)},
      {"tokens", json::json_integers(settings.tokens)},
      {"activations", activations_json(settings)},
      {"together", optional_integer(settings.together)},
  });
}

json::JsonText variants_json(const std::vector<record::ReportVariant>& variants) {
  return json::json_array_of(variants, [](const record::ReportVariant& variant) {
    return json::json_object({
        {"name", json::json_string(variant.name)},
        {"operation", json::json_string(variant.operation)},
        {"summary", json::json_string(variant.summary)},
        {"launches", json::json_integer(variant.launches)},
        {"inline_ptx", json::json_bool(variant.inline_ptx)},
        {"cache_hints", json::json_bool(variant.cache_hints)},
        {"persistent", json::json_bool(variant.persistent)},
        {"mirrors", json::json_string(variant.mirrors)},
        {"compiled_from", json::json_string_or_null(variant.compiled_from)},
    });
  });
}

}  // namespace nf4bench::report
