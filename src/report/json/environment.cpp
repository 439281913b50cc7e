#include "report/json/sections.hpp"

namespace nf4bench {
namespace {

template <typename Enum>
JsonText names(const std::vector<Enum>& values) {
  return json_array_of(values, [](Enum value) { return json_string(to_string(value)); });
}

JsonText optional_bool(std::optional<bool> value) {
  return value ? json_bool(*value) : json_null();
}

JsonText state_json(const DeviceState& state, NumberGuard& guard) {
  return json_object({
      {"sm_clock_hz", guard.number("sm_clock_hz", state.sm_clock_hz)},
      {"max_sm_clock_hz", guard.number("max_sm_clock_hz", state.max_sm_clock_hz)},
      {"memory_clock_hz", guard.number("memory_clock_hz", state.memory_clock_hz)},
      {"power_w", guard.number("power_w", state.power_w)},
      {"power_limit_w", guard.number("power_limit_w", state.power_limit_w)},
      {"temperature_c", guard.number("temperature_c", state.temperature_c)},
      {"persistence", optional_bool(state.persistence)},
      {"throttle_reasons", json_strings(state.throttle_reasons)},
      {"unavailable", json_string_or_null(state.unavailable)},
  });
}

}  // namespace

JsonText json_strings(const std::vector<std::string>& values) {
  return json_array_of(values, [](const std::string& value) { return json_string(value); });
}

JsonText tool_json(const ToolInfo& tool) {
  return json_object({
      {"name", json_string("nf4bench")},
      {"version", json_string(tool.version)},
      {"git_commit", json_string_or_null(tool.git_commit)},
      {"git_dirty", json_bool(tool.git_dirty)},
      {"build_type", json_string(tool.build_type)},
      {"compiler", json_string(tool.compiler)},
      {"cuda_architectures", json_string_or_null(tool.cuda_architectures)},
  });
}

JsonText host_json(const HostInfo& host) {
  return json_object({
      {"name", json_string(host.name)},
      {"os", json_string(host.os)},
      {"kernel", json_string(host.kernel)},
      {"cpu", json_string(host.cpu)},
      {"threads", json_integer(host.threads)},
      {"memory_bytes", json_integer(host.memory_bytes)},
  });
}

JsonText device_json(const Report& report, NumberGuard& guard) {
  const DeviceInfo& device = report.device;
  guard.enter("device");
  const JsonText peak = guard.number("peak_bytes_per_s", device.peak_bytes_per_s);
  guard.enter("device.state_before");
  const JsonText before = state_json(report.state_before, guard);
  guard.enter("device.state_after");
  const JsonText after = report.state_after ? state_json(*report.state_after, guard) : json_null();
  const int capability = device.compute_capability;
  return json_object({
      {"id", json_string(device.id)},
      {"kind", json_string(device.kind == DeviceKind::kCuda ? "cuda" : "cpu")},
      {"name", json_string(device.name)},
      {"compute_capability", capability > 0 ? json_integer(capability) : json_null()},
      {"multiprocessors", json_integer(device.multiprocessors)},
      {"l2_bytes", json_integer(device.l2_bytes)},
      {"memory_bytes", json_integer(device.memory_bytes)},
      {"peak_bytes_per_s", peak},
      {"uuid", json_string_or_null(device.uuid)},
      {"pci_id", json_string_or_null(device.pci_id)},
      {"driver", json_string_or_null(device.driver)},
      {"runtime", json_string_or_null(device.runtime)},
      {"ecc", optional_bool(device.ecc)},
      {"mig", optional_bool(device.mig)},
      {"simd", json_string_or_null(device.simd)},
      {"state_before", before},
      {"state_after", after},
  });
}

JsonText settings_json(const RunOptions& settings, NumberGuard& guard) {
  guard.enter("settings");
  return json_object({
      {"output_dtypes", names(settings.output_types)},
      {"caches", names(settings.caches)},
      {"launches", names(settings.launches)},
      {"baseline", json_string_or_null(settings.baseline)},
      {"min_samples", json_integer(settings.min_samples)},
      {"max_time_s", guard.number("max_time_s", settings.max_time_s)},
      {"precision", guard.number("precision", settings.precision)},
      {"min_sample_s", guard.number("min_sample_s", settings.min_sample_s)},
      {"seed", json_unsigned(settings.seed)},
      {"verify", json_string(settings.verify == VerifyScope::kAll ? "all" : "sampled")},
      {"measure_stream_shapes", json_bool(settings.measure_stream_shapes)},
  });
}

}  // namespace nf4bench
