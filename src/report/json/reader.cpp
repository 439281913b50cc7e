#include "base/checked.hpp"
#include "record/sample_digest.hpp"
#include "report/json/read.hpp"
#include "report/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace nf4bench::report {
namespace {

constexpr record::Status kStatuses[] = {record::Status::kPassed, record::Status::kFailed,
                                        record::Status::kSkipped, record::Status::kInvalid};
constexpr record::StopReason kStopReasons[] = {record::StopReason::kPrecision,
                                               record::StopReason::kTimeLimit,
                                               record::StopReason::kInterrupted};
constexpr record::CacheMode kCacheModes[] = {record::CacheMode::kCold, record::CacheMode::kHot};
constexpr record::LaunchMode kLaunchModes[] = {
    record::LaunchMode::kGraph, record::LaunchMode::kStream, record::LaunchMode::kSpaced};

std::string known_tensor(const json::JsonNode& node, const std::set<std::string>& ids) {
  std::string id = node.string();
  if (!ids.contains(id)) node.fail("names no tensor of this report");
  return id;
}

// Null where there were too few samples.
std::optional<statistics::Interval> read_interval(const json::JsonNode& node) {
  if (node.is_null()) return std::nullopt;
  const std::vector<double> ends = node.numbers(0.0);
  if (ends.size() != 2 || ends[0] > ends[1]) node.refuse("two numbers, the lower first");
  return statistics::Interval{ends[0], ends[1]};
}

record::ReportTensor read_tensor(const json::JsonNode& node) {
  record::ReportTensor tensor;
  tensor.id = node["id"].string();
  tensor.name = node["name"].string();
  tensor.source = node["source"].string();
  record::Geometry& geometry = tensor.geometry;
  geometry.shape =
      read_all(node["shape"], [](const json::JsonNode& extent) { return extent.count(); });
  constexpr std::size_t kMostExtents = 32;  // what a tensor of an input may have
  if (geometry.shape.size() > kMostExtents) {
    node["shape"].fail(
        fmt::format("found {} extents, wanted at most {}", geometry.shape.size(), kMostExtents));
  }
  std::optional<std::uint64_t> elements = 1;
  for (const std::int64_t extent : geometry.shape) {
    if (elements) elements = checked_multiply(*elements, static_cast<std::uint64_t>(extent));
  }
  if (elements != static_cast<std::uint64_t>(node["elements"].count())) {
    node["elements"].refuse("the product of the shape");
  }
  geometry.blocksize = node["blocksize"].small_count();
  geometry.absmax_kind =
      node["nested"].boolean() ? nf4::AbsmaxKind::kNested : nf4::AbsmaxKind::kPlain;
  tensor.dtype = read_output_type(node["dtype"]);
  tensor.sha256 = node["sha256"].string_or_empty();
  tensor.multiplicity = node["multiplicity"].count();
  return tensor;
}

constexpr record::RoofLimit kRoofLimits[] = {record::RoofLimit::kMemory,
                                             record::RoofLimit::kCompute};
constexpr record::WeightClass kWeightClasses[] = {record::WeightClass::kExact,
                                                  record::WeightClass::kRounded};

record::InputsSeen read_inputs_seen(const json::JsonNode& node) {
  return {.alone = node["alone"].count(), .summed = node["in_exact_sums"].count()};
}

record::Accuracy read_accuracy(const json::JsonNode& node) {
  record::Accuracy accuracy = {
      .weights = read_enum<record::WeightClass>(node["class"], kWeightClasses),
      .rms_error = node["rms_error"].number(0.0),
      .max_error = node["max_error"].number(0.0)};
  if (node.has("inputs_seen")) {
    accuracy.inputs = read_optional(node["inputs_seen"], read_inputs_seen);
  }
  return accuracy;
}

record::Verification read_verification(const json::JsonNode& node) {
  record::Verification comparison;
  comparison.compared = node["compared"].count();
  comparison.mismatches = node["mismatches"].count();
  const json::JsonNode first = node["first_mismatch"];
  if (!first.is_null()) comparison.first_mismatch = first.count();
  comparison.max_ulp = node["max_ulp"].unsigned_integer();
  if (node.has("accuracy")) comparison.accuracy = read_optional(node["accuracy"], read_accuracy);
  return comparison;
}

statistics::Summary read_time(const json::JsonNode& node) {
  statistics::Summary time;
  time.median = node["median"].number(0.0);
  time.mean = node["mean"].number(0.0);
  time.min = node["min"].number(0.0);
  time.p05 = node["p05"].number(0.0);
  time.p95 = node["p95"].number(0.0);
  time.mad = node["mad"].number(0.0);
  time.ci95 = read_interval(node["ci95"]);
  return time;
}

record::Speedup read_speedup(const json::JsonNode& node) {
  record::Speedup speedup;
  speedup.baseline = node["baseline"].string();
  speedup.ratio = node["ratio"].number(0.0);
  speedup.ci95 = read_interval(node["ci95"]);
  return speedup;
}

record::Alone read_alone(const json::JsonNode& node) {
  record::Alone alone = {.median_s = node["median"].number(0.0),
                         .ci95 = read_interval(node["ci95"])};
  if (node.has("sm_clock_hz")) alone.sm_clock_hz = node["sm_clock_hz"].optional_number(0.0);
  return alone;
}

record::StopReason read_stop_reason(const json::JsonNode& node) {
  return read_enum<record::StopReason>(node, kStopReasons);
}

record::SampleDigest read_digest(const json::JsonNode& node) {
  record::SampleDigest digest;
  digest.count = node["count"].count();
  digest.log_error = node["log_error"].number(0.0);
  digest.mean_clock_hz = node["mean_clock_hz"].optional_number(0.0);
  digest.median_clock_hz = node["median_clock_hz"].optional_number(0.0);
  return digest;
}

void read_samples(const json::JsonNode& node, record::Measurement& m) {
  m.samples_s = node["samples_s"].numbers(0.0);
  const json::JsonNode clocks = node["sm_clock_hz"];
  m.sm_clock_hz = clocks.numbers(0.0);
  if (!m.sm_clock_hz.empty() && m.sm_clock_hz.size() != m.samples_s.size()) {
    clocks.fail(fmt::format("found {} clocks, wanted none or {}, one for each of samples_s",
                            m.sm_clock_hz.size(), m.samples_s.size()));
  }
  if (node.has("sample_digest")) {
    const json::JsonNode digest = node["sample_digest"];
    if (!m.samples_s.empty()) digest.fail("stands beside the samples that it replaces");
    m.digest = read_digest(digest);
  }
  if (node.has("alone_s")) m.alone = read_optional(node["alone_s"], read_alone);
  if (!node.has("throttled_samples")) return;
  const auto read_count = [](const json::JsonNode& count) { return count.count(); };
  const json::JsonNode throttled = node["throttled_samples"];
  m.throttled_samples = read_optional(throttled, read_count);
  if (m.throttled_samples > record::sample_count(m)) {
    throttled.refuse("at most as many as there are samples");
  }
}

record::HostLoad read_host_load(const json::JsonNode& node) {
  record::HostLoad load;
  load.processors = node["processors"].small_count();
  load.others = node["others"].number(0.0);
  load.stolen = node["stolen"].number(0.0);
  load.involuntary_switches = node["involuntary_switches"].count();
  load.disturbed = node["disturbed"].boolean();
  return load;
}

record::Energy read_energy(const json::JsonNode& node) {
  record::Energy energy;
  energy.joules = node["joules"].optional_number(0.0);
  energy.power_w = node["power_w"].optional_number(0.0).value_or(0.0);
  energy.seconds = node["seconds"].optional_number(0.0).value_or(0.0);
  energy.calls = node["calls"].count();
  energy.error = node["error"].optional_number(0.0).value_or(0.0);
  energy.unavailable = node["unavailable"].string_or_empty();
  return energy;
}

// Null, or nothing at all in older reports, where the operation has none.
std::int64_t read_tokens(const json::JsonNode& node) {
  if (!node.has("tokens") || node["tokens"].is_null()) return 0;
  const std::int64_t tokens = node["tokens"].count();
  if (tokens == 0) node["tokens"].refuse("a positive number, or null");
  return tokens;
}

void read_roof(const json::JsonNode& node, record::Measurement& m) {
  if (!node.has("fraction_of_roof") || node["fraction_of_roof"].is_null()) return;
  m.roof = {.fraction = node["fraction_of_roof"].number(0.0),
            .limit = read_enum<record::RoofLimit>(node["roof_limit"], kRoofLimits)};
}

void read_rates(const json::JsonNode& node, record::Measurement& m) {
  const json::JsonNode bytes = node["bytes"];
  m.bytes_read = bytes["read"].count();
  m.bytes_written = bytes["written"].count();
  m.bytes_per_s = node["bytes_per_s"].optional_number(0.0);
  if (node.has("flops")) m.flops = node["flops"].optional_number(0.0).value_or(0.0);
  m.reference_line = node.has("reference_line") && node["reference_line"].boolean();
  if (node.has("flops_per_s")) m.flops_per_s = node["flops_per_s"].optional_number(0.0);
  read_roof(node, m);
  m.fraction_of_copy = node["fraction_of_copy"].optional_number(0.0);
  m.fraction_of_stream = node["fraction_of_stream"].optional_number(0.0);
}

record::Measurement read_measurement(const json::JsonNode& node,
                                     const std::set<std::string>& tensors) {
  record::Measurement m;
  m.cell.tensor = known_tensor(node["tensor"], tensors);
  m.cell.operation = read_operation(node["operation"]);
  m.variant = node["variant"].string();
  m.cell.device = node["device"].string();
  m.cell.output_type = read_output_type(node["output_dtype"]);
  m.cell.tokens = read_tokens(node);
  m.cell.cache = read_cache(node["cache"]);
  m.cell.launch = read_launch(node["launch"]);
  m.status = read_enum<record::Status>(node["status"], kStatuses);
  m.reason = node["reason"].string_or_empty();
  m.verification = read_optional(node["verification"], read_verification);
  m.time_s = read_optional(node["time_s"], read_time);
  read_rates(node, m);
  m.speedup = read_optional(node["speedup"], read_speedup);
  m.launches_per_sample = node["launches_per_sample"].small_count();
  m.stopped_by = read_optional(node["stopped_by"], read_stop_reason);
  read_samples(node, m);
  if (node.has("load")) m.load = read_optional(node["load"], read_host_load);
  if (node.has("energy")) m.energy = read_optional(node["energy"], read_energy);
  return m;
}

record::StreamCeiling read_stream(const json::JsonNode& node,
                                  const std::set<std::string>& tensors) {
  record::StreamCeiling stream;
  stream.cell.operation =
      node.has("operation") ? read_operation(node["operation"]) : record::kDequantize;
  stream.cell.tensor = known_tensor(node["tensor"], tensors);
  stream.cell.output_type = read_output_type(node["output_dtype"]);
  stream.cell.tokens = read_tokens(node);
  stream.cell.cache = read_cache(node["cache"]);
  stream.cell.launch = read_launch(node["launch"]);
  stream.shape = node["shape"].string();
  stream.median_s = node["median_s"].optional_number(0.0).value_or(0.0);
  stream.bytes_per_s = node["bytes_per_s"].optional_number(0.0).value_or(0.0);
  return stream;
}

record::Ceilings read_ceilings(const json::JsonNode& node) {
  record::Ceilings ceilings;
  ceilings.copy_bytes = node["copy_bytes"].count();
  ceilings.copy_bytes_per_s = node["copy_bytes_per_s"].optional_number(0.0).value_or(0.0);
  ceilings.write_bytes = node["write_bytes"].count();
  ceilings.write_bytes_per_s = node["write_bytes_per_s"].optional_number(0.0).value_or(0.0);
  ceilings.event_overhead_s = node["event_overhead_s"].optional_number(0.0);
  ceilings.launch_overhead_s = node["launch_overhead_s"].optional_number(0.0);
  if (!node.has("flops_per_s") || node["flops_per_s"].is_null()) return ceilings;
  for (const nf4::OutputType type : nf4::kOutputTypes) {
    const json::JsonNode rates = node["flops_per_s"];
    const std::optional<double> rate =
        rates.has(to_string(type)) ? rates[to_string(type)].optional_number(0.0) : std::nullopt;
    if (rate) ceilings.flops_per_s[type] = *rate;
  }
  return ceilings;
}

std::set<std::string> tensor_ids(const json::JsonNode& node) {
  std::set<std::string> ids;
  node.each([&](const json::JsonNode& tensor) {
    const json::JsonNode id = tensor["id"];
    if (!ids.insert(id.string()).second) id.fail("is the id of an earlier tensor, too");
  });
  return ids;
}

void check_schema(const json::JsonNode& root) {
  const json::JsonNode schema = root["schema"];
  if (schema.string() != record::kReportSchema)
    schema.refuse(fmt::format("\"{}\"", record::kReportSchema));
  const json::JsonNode version = root["schema_version"];
  if (!version.string().starts_with("1.")) {
    version.refuse("1.x: this program does not read reports of another major version");
  }
}

record::Report read_report(const json::JsonNode& root) {
  check_schema(root);
  const std::set<std::string> ids = tensor_ids(root["tensors"]);
  record::Report report;
  report.complete = root["complete"].boolean();
  report.tool = read_tool(root["tool"]);
  report.command = root["command"].strings();
  report.started_at = root["started_at"].string_or_empty();
  report.finished_at = root["finished_at"].string_or_empty();
  report.host = read_host(root["host"]);
  if (root.has("shard")) report.shard = read_optional(root["shard"], read_shard);
  const json::JsonNode device = root["device"];
  report.device = read_device(device);
  report.state_before = read_device_state(device["state_before"]);
  report.state_after = read_optional(device["state_after"], read_device_state);
  if (device.has("idle_power_w")) {
    report.idle_power_w = device["idle_power_w"].optional_number(0.0);
  }
  report.settings = read_settings(root["settings"]);
  report.tensors = read_all(root["tensors"], read_tensor);
  if (root.has("variants")) report.variants = read_all(root["variants"], read_variant);
  report.measurements = read_all(root["measurements"], [&](const json::JsonNode& node) {
    return read_measurement(node, ids);
  });
  const json::JsonNode ceilings = root["ceilings"];
  report.ceilings = read_ceilings(ceilings);
  report.stream_ceilings = read_all(
      ceilings["stream"], [&](const json::JsonNode& node) { return read_stream(node, ids); });
  for (record::StreamCeiling& stream : report.stream_ceilings)
    stream.cell.device = report.device.id;
  report.tensors_verified = root["summary"]["tensors_verified"].count();
  report.warnings = root["warnings"].strings();
  return report;
}

}  // namespace

std::size_t read_word(const json::JsonNode& node, const std::vector<std::string>& words) {
  std::string word = node.string();
  const auto found = std::find(words.begin(), words.end(), word);
  if (found == words.end()) node.refuse(fmt::format("one of {}", fmt::join(words, ", ")));
  return static_cast<std::size_t>(found - words.begin());
}

std::string read_operation(const json::JsonNode& node) {
  constexpr std::size_t kMostCharacters = 64;
  std::string word = node.string();
  const bool is_word =
      word.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string::npos;
  if (word.empty() || word.size() > kMostCharacters || !is_word) {
    node.refuse("the name of an operation: small letters, digits and _");
  }
  return word;
}

nf4::OutputType read_output_type(const json::JsonNode& node) {
  return read_enum<nf4::OutputType>(node, nf4::kOutputTypes);
}

record::CacheMode read_cache(const json::JsonNode& node) {
  return read_enum<record::CacheMode>(node, kCacheModes);
}

record::LaunchMode read_launch(const json::JsonNode& node) {
  return read_enum<record::LaunchMode>(node, kLaunchModes);
}

record::Report report_from_json(std::string text, const std::string& source) {
  const json::JsonTree tree = json::parse_json(text, source);
  std::string().swap(text);  // the tree has it all; the report comes in its place
  return read_report(json::JsonNode(tree, source));
}

}  // namespace nf4bench::report
