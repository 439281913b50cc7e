#include "report/json/read.hpp"

namespace nf4bench::report {
namespace {

record::MeasuredOperation read_measured_operation(const json::JsonNode& node) {
  return {.name = read_operation(node["name"]), .baseline = node["baseline"].string_or_empty()};
}

constexpr record::Activations kActivations[] = {
    record::Activations::kNormal, record::Activations::kOutlier, record::Activations::kFile};

// Reports of before there were activations had none.
void read_inputs(const json::JsonNode& node, record::Settings& settings) {
  if (node.has("tokens")) {
    settings.tokens =
        read_all(node["tokens"], [](const json::JsonNode& tokens) { return tokens.count(); });
  }
  if (!node.has("activations")) return;
  const json::JsonNode activations = node["activations"];
  settings.activations = read_enum<record::Activations>(activations["kind"], kActivations);
  settings.activations_file = activations["file"].string_or_empty();
  settings.cold_activations = activations["cold"].boolean();
}

// Reports of before there was a choice do not say it.
constexpr int kCachesRotatedAtFirst = 5;

}  // namespace

record::ToolInfo read_tool(const json::JsonNode& node) {
  record::ToolInfo tool;
  tool.version = node["version"].string();
  tool.git_commit = node["git_commit"].string_or_empty();
  tool.git_dirty = node["git_dirty"].boolean();
  tool.build_type = node["build_type"].string();
  tool.compiler = node["compiler"].string();
  tool.cuda_architectures = node["cuda_architectures"].string_or_empty();
  return tool;
}

record::Shard read_shard(const json::JsonNode& node) {
  record::Shard shard;
  shard.index = node["index"].small_count();
  if (!node["count"].is_null()) shard.count = node["count"].small_count();
  if (shard.count > 0 && shard.index >= shard.count) node["index"].refuse("less than count");
  shard.split = node["split"].boolean();
  shard.origin = node["from"].string();
  return shard;
}

record::HostInfo read_host(const json::JsonNode& node) {
  record::HostInfo host;
  host.name = node["name"].string();
  host.os = node["os"].string();
  host.kernel = node["kernel"].string();
  host.cpu = node["cpu"].string();
  host.threads = node["threads"].small_count();
  host.memory_bytes = node["memory_bytes"].count();
  return host;
}

record::DeviceInfo read_device(const json::JsonNode& node) {
  record::DeviceInfo device;
  device.id = node["id"].string();
  device.kind = read_word(node["kind"], {"cpu", "cuda"}) == 1 ? record::DeviceKind::kCuda
                                                              : record::DeviceKind::kCpu;
  device.name = node["name"].string();
  const json::JsonNode capability = node["compute_capability"];
  device.compute_capability = capability.is_null() ? 0 : capability.small_count();
  device.multiprocessors = node["multiprocessors"].small_count();
  device.l2_bytes = node["l2_bytes"].count();
  device.memory_bytes = node["memory_bytes"].count();
  device.peak_bytes_per_s = node["peak_bytes_per_s"].optional_number(0.0);
  device.uuid = node["uuid"].string_or_empty();
  device.pci_id = node["pci_id"].string_or_empty();
  device.driver = node["driver"].string_or_empty();
  device.runtime = node["runtime"].string_or_empty();
  device.ecc = node["ecc"].optional_bool();
  device.mig = node["mig"].optional_bool();
  device.simd = node["simd"].string_or_empty();
  return device;
}

record::DeviceState read_device_state(const json::JsonNode& node) {
  record::DeviceState state;
  state.sm_clock_hz = node["sm_clock_hz"].optional_number(0.0);
  state.max_sm_clock_hz = node["max_sm_clock_hz"].optional_number(0.0);
  state.memory_clock_hz = node["memory_clock_hz"].optional_number(0.0);
  state.power_w = node["power_w"].optional_number(0.0);
  state.power_limit_w = node["power_limit_w"].optional_number(0.0);
  state.temperature_c = node["temperature_c"].optional_number(-273.15);
  state.persistence = node["persistence"].optional_bool();
  state.throttle_reasons = node["throttle_reasons"].strings();
  if (node.has("other_processes")) {
    state.other_processes = node["other_processes"].optional_small_count();
  }
  state.unavailable = node["unavailable"].string_or_empty();
  return state;
}

record::ReportVariant read_variant(const json::JsonNode& node) {
  record::ReportVariant variant;
  variant.name = node["name"].string();
  variant.operation =
      node.has("operation") ? read_operation(node["operation"]) : record::kDequantize;
  variant.summary = node["summary"].string();
  variant.launches = node["launches"].small_count();
  variant.inline_ptx = node["inline_ptx"].boolean();
  variant.cache_hints = node["cache_hints"].boolean();
  variant.persistent = node["persistent"].boolean();
  variant.mirrors = node["mirrors"].string();
  if (node.has("compiled_from")) variant.compiled_from = node["compiled_from"].string_or_empty();
  return variant;
}

record::Settings read_settings(const json::JsonNode& node) {
  record::Settings settings;
  settings.operations = node.has("operations")
                            ? read_all(node["operations"], read_measured_operation)
                            : std::vector<record::MeasuredOperation>();
  settings.output_types = read_all(node["output_dtypes"], read_output_type);
  settings.caches = read_all(node["caches"], read_cache);
  settings.launches = read_all(node["launches"], read_launch);
  settings.baseline = node["baseline"].string_or_empty();
  settings.caches_rotated =
      node.has("caches_rotated") ? node["caches_rotated"].small_count() : kCachesRotatedAtFirst;
  settings.min_samples = node["min_samples"].small_count();
  settings.max_time_s = node["max_time_s"].number(0.0);
  settings.precision = node["precision"].number(0.0);
  settings.min_sample_s = node["min_sample_s"].number(0.0);
  settings.seed = node["seed"].unsigned_integer();
  const bool is_all = read_word(node["verify"], {"all", "sampled"}) == 0;
  settings.verify = is_all ? record::VerifyScope::kAll : record::VerifyScope::kSampled;
  settings.measure_stream_shapes = node["measure_stream_shapes"].boolean();
  settings.together = node.has("together") ? node["together"].optional_small_count() : std::nullopt;
  read_inputs(node, settings);
  return settings;
}

}  // namespace nf4bench::report
