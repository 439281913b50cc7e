#include "exports/export.hpp"
#include "exports/rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace nf4bench {
namespace {

JsonText version_of(const std::string& text) {
  return json_object({{"major", json_integer(1)},
                      {"minor", json_integer(0)},
                      {"patch", json_integer(0)},
                      {"string", json_string(text)}});
}

JsonText meta_of(const Report& report) {
  std::vector<JsonText> argv;
  for (const std::string& word : report.command) argv.push_back(json_string(word));
  const JsonText maker = json_object({{"string", json_string("nf4bench " + report.tool.version)},
                                      {"git_sha", json_string(report.tool.git_commit)},
                                      {"git_is_dirty", json_bool(report.tool.git_dirty)}});
  return json_object(
      {{"argv", json_array(argv)},
       {"version", json_object({{"json", version_of("1.0.0")}, {"nf4bench", maker}})}});
}

JsonText device_of(const Report& report) {
  const DeviceInfo& device = report.device;
  std::vector<JsonMember> members = {
      {"id", json_integer(0)},
      {"name", json_string(device.name)},
      {"sm_version", json_integer(std::int64_t{10} * device.compute_capability)},
      {"number_of_sms", json_integer(device.multiprocessors)},
      {"global_memory_size", json_integer(device.memory_bytes)},
      {"l2_cache_size", json_integer(device.l2_bytes)}};
  if (device.peak_bytes_per_s) {
    members.push_back({"global_memory_bus_bandwidth", json_number(*device.peak_bytes_per_s)});
  }
  if (device.ecc) members.push_back({"ecc_state", json_bool(*device.ecc)});
  return json_object(members);
}

struct AxisValue {
  const char* name;
  const char* type;
  std::string value;
};
using AxisValues = std::array<AxisValue, 7>;

AxisValues axis_values_of(const ExportRow& row) {
  const Measurement& m = *row.measurement;
  const bool known = row.tensor != nullptr;
  return {{{"Shape", "string", shape_name(row)},
           {"Blocksize", "int64", fmt::format("{}", known ? row.tensor->blocksize : 0)},
           {"Absmax", "string", known ? to_string(row.tensor->absmax_kind) : "unknown"},
           {"Type", "string", to_string(m.output_type)},
           {"Cache", "string", to_string(m.cache)},
           {"Launch", "string", to_string(m.launch)},
           {"Tensor", "string", m.tensor}}};
}

JsonText axis_json(const AxisValue& axis) {
  return json_object({{"name", json_string(axis.name)},
                      {"type", json_string(axis.type)},
                      {"value", json_string(axis.value)}});
}

// Numbers are strings in this format.
JsonText summary(const char* tag, const char* hint, const char* type, const std::string& value) {
  const std::string name(std::string_view(tag).substr(std::string_view("nv/").size()));
  const JsonText data = json_object(
      {{"name", json_string("value")}, {"type", json_string(type)}, {"value", json_string(value)}});
  return json_object({{"tag", json_string(tag)},
                      {"name", json_string(name)},
                      {"description", json_string("")},
                      {"hint", json_string(hint)},
                      {"data", json_array({data})}});
}

void add_number(std::vector<JsonText>& all, const char* tag, const char* hint,
                const std::optional<double>& value) {
  const std::string text = number_text(value);
  if (!text.empty()) all.push_back(summary(tag, hint, "float64", text));
}

void add_spread(std::vector<JsonText>& all, const Measurement& m) {
  if (m.samples_s.empty()) return;
  std::vector<double> sorted = m.samples_s;
  std::sort(sorted.begin(), sorted.end());
  const double q1 = quantile_sorted(sorted, 0.25);
  const double q3 = quantile_sorted(sorted, 0.75);
  const double centre = quantile_sorted(sorted, 0.5);
  add_number(all, "nv/cold/time/gpu/max", "duration", sorted.back());
  add_number(all, "nv/cold/time/gpu/q1", "duration", q1);
  add_number(all, "nv/cold/time/gpu/q3", "duration", q3);
  add_number(all, "nv/cold/time/gpu/iqr/absolute", "duration", q3 - q1);
  add_number(all, "nv/cold/time/gpu/iqr/relative", "percentage", (q3 - q1) / centre);
  const std::optional<double> deviation = standard_deviation(m.samples_s);
  if (!deviation) return;
  add_number(all, "nv/cold/time/gpu/stdev/absolute", "duration", deviation);
  add_number(all, "nv/cold/time/gpu/stdev/relative", "percentage", *deviation / m.time_s->mean);
}

JsonText summaries_of(const ExportRow& row) {
  std::vector<JsonText> all;
  const Measurement& m = *row.measurement;
  if (!row.is_timed) return json_array(all);
  all.push_back(summary("nv/cold/sample_size", "sample_size", "int64",
                        fmt::format("{}", m.samples_s.size())));
  add_number(all, "nv/cold/time/gpu/min", "duration", m.time_s->min);
  add_number(all, "nv/cold/time/gpu/mean", "duration", m.time_s->mean);
  add_number(all, "nv/cold/time/gpu/median", "duration", m.time_s->median);
  add_spread(all, m);
  add_number(all, "nv/cold/bw/global/bytes_per_second", "byte_rate", m.bytes_per_s);
  add_number(all, "nv/cold/sm_clock_rate/mean", "frequency", mean_clock_hz(m));
  return json_array(all);
}

JsonText state_of(const ExportRow& row, const RunOptions& settings) {
  const Measurement& m = *row.measurement;
  std::string name = "Device=0";
  std::vector<JsonText> axes;
  for (const AxisValue& axis : axis_values_of(row)) {
    name += fmt::format(" {}={}", axis.name, axis.value);
    axes.push_back(axis_json(axis));
  }
  return json_object({{"name", json_string(name)},
                      {"min_samples", json_integer(settings.min_samples)},
                      {"skip_time", json_number(-1.0)},
                      {"timeout", json_number(settings.max_time_s)},
                      {"device", json_integer(0)},
                      {"type_config_index", json_integer(0)},
                      {"axis_values", json_array(axes)},
                      {"summaries", summaries_of(row)},
                      {"is_skipped", json_bool(!row.is_timed)},
                      {"skip_reason", json_string(row.is_timed ? "" : m.reason)}});
}

// The axes of a benchmark: each value that any of its states has, once.
JsonText axes_of(const std::vector<const ExportRow*>& rows) {
  std::vector<JsonText> axes;
  const std::size_t count = std::tuple_size_v<AxisValues>;
  for (std::size_t axis = 0; axis < count; ++axis) {
    std::vector<std::string> seen;
    std::vector<JsonText> values;
    for (const ExportRow* row : rows) {
      const std::string value = axis_values_of(*row)[axis].value;
      if (std::find(seen.begin(), seen.end(), value) != seen.end()) continue;
      seen.push_back(value);
      const bool is_integer = axis_values_of(*row)[axis].type == std::string_view("int64");
      values.push_back(json_object({{"input_string", json_string(value)},
                                    {"description", json_string("")},
                                    {"value", is_integer ? JsonText{value} : json_string(value)}}));
    }
    const AxisValue first = axis_values_of(*rows.front())[axis];
    axes.push_back(json_object({{"name", json_string(first.name)},
                                {"type", json_string(first.type)},
                                {"flags", json_string("")},
                                {"values", json_array(values)}}));
  }
  return json_array(axes);
}

JsonText benchmark_of(const std::vector<const ExportRow*>& rows, std::size_t index,
                      const RunOptions& settings) {
  const Measurement& first = *rows.front()->measurement;
  std::vector<JsonText> states;
  states.reserve(rows.size());
  for (const ExportRow* row : rows) states.push_back(state_of(*row, settings));
  return json_object(
      {{"name", json_string(fmt::format("{}/{}", first.operation, first.variant))},
       {"index", json_integer(static_cast<std::int64_t>(index))},
       {"min_samples", json_integer(settings.min_samples)},
       {"skip_time", json_number(-1.0)},
       {"timeout", json_number(settings.max_time_s)},
       {"devices", json_array({json_integer(0)})},
       {"axes", axes_of(rows)},
       {"states", json_array(states)}});
}

}  // namespace

std::string to_nvbench(const Report& report) {
  const std::vector<ExportRow> rows = export_rows(report);
  std::vector<std::vector<const ExportRow*>> variants;
  for (const ExportRow& row : rows) {
    const auto found = std::find_if(variants.begin(), variants.end(), [&](const auto& group) {
      return group.front()->measurement->variant == row.measurement->variant;
    });
    if (found == variants.end()) {
      variants.push_back({&row});
    } else {
      found->push_back(&row);
    }
  }
  std::vector<JsonText> benchmarks;
  for (std::size_t i = 0; i < variants.size(); ++i) {
    benchmarks.push_back(benchmark_of(variants[i], i, report.settings));
  }
  return json_object({{"meta", meta_of(report)},
                      {"devices", json_array({device_of(report)})},
                      {"benchmarks", json_array(benchmarks)}})
             .text +
         '\n';
}

}  // namespace nf4bench
