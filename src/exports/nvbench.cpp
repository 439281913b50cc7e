#include "exports/export.hpp"
#include "exports/rows.hpp"
#include "record/samples.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace nf4bench::exports {
namespace {

json::JsonText version_of(const std::string& text) {
  return json::json_object({{"major", 1}, {"minor", 0}, {"patch", 0}, {"string", text}});
}

json::JsonText meta_of(const record::Report& report) {
  const json::JsonText maker = json::json_object({{"string", "nf4bench " + report.tool.version},
                                                  {"git_sha", report.tool.git_commit},
                                                  {"git_is_dirty", report.tool.git_dirty}});
  return json::json_object(
      {{"argv", report.command},
       {"version", json::json_object({{"json", version_of("1.0.0")}, {"nf4bench", maker}})}});
}

json::JsonText device_of(const record::Report& report) {
  const record::DeviceInfo& device = report.device;
  std::vector<json::JsonMember> members = {
      {"id", 0},
      {"name", device.name},
      {"sm_version", std::int64_t{10} * device.compute_capability},
      {"number_of_sms", device.multiprocessors},
      {"global_memory_size", device.memory_bytes},
      {"l2_cache_size", device.l2_bytes}};
  if (device.peak_bytes_per_s) {
    members.push_back({"global_memory_bus_bandwidth", *device.peak_bytes_per_s});
  }
  if (device.ecc) members.push_back({"ecc_state", *device.ecc});
  return json::json_object(members);
}

struct AxisValue {
  const char* name;
  const char* type;
  std::string value;
};
using AxisValues = std::vector<AxisValue>;

AxisValues axis_values_of(const ExportRow& row) {
  const record::Measurement& m = *row.measurement;
  const bool known = row.tensor != nullptr;
  AxisValues values = {
      {"Shape", "string", shape_name(row)},
      {"Blocksize", "int64", fmt::format("{}", known ? row.tensor->geometry.blocksize : 0)},
      {"Absmax", "string", known ? to_string(row.tensor->geometry.absmax_kind) : "unknown"},
      {"Type", "string", to_string(m.cell.output_type)},
      {"Cache", "string", to_string(m.cell.cache)},
      {"Launch", "string", to_string(m.cell.launch)},
      {"Tensor", "string", m.cell.tensor}};
  if (m.cell.tokens > 0) values.push_back({"Tokens", "int64", fmt::format("{}", m.cell.tokens)});
  return values;
}

json::JsonText axis_json(const AxisValue& axis) {
  return json::json_object({{"name", axis.name}, {"type", axis.type}, {"value", axis.value}});
}

// Numbers are strings in this format.
json::JsonText summary(const char* tag, const char* hint, const char* type,
                       const std::string& value) {
  const std::string name(std::string_view(tag).substr(std::string_view("nv/").size()));
  const json::JsonText data =
      json::json_object({{"name", "value"}, {"type", type}, {"value", value}});
  return json::json_object({{"tag", tag},
                            {"name", name},
                            {"description", ""},
                            {"hint", hint},
                            {"data", json::json_array({data})}});
}

void add_number(std::vector<json::JsonText>& all, const char* tag, const char* hint,
                const std::optional<double>& value) {
  const std::string text = number_text(value);
  if (!text.empty()) all.push_back(summary(tag, hint, "float64", text));
}

void add_spread(std::vector<json::JsonText>& all, const record::Measurement& m) {
  if (m.samples_s.empty()) return;
  std::vector<double> sorted = m.samples_s;
  std::ranges::sort(sorted);
  const double q1 = statistics::quantile_sorted(sorted, 0.25);
  const double q3 = statistics::quantile_sorted(sorted, 0.75);
  const double centre = statistics::quantile_sorted(sorted, 0.5);
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

json::JsonText summaries_of(const ExportRow& row) {
  std::vector<json::JsonText> all;
  const record::Measurement& m = *row.measurement;
  if (!row.is_timed) return json::json_array(all);
  all.push_back(summary("nv/cold/sample_size", "sample_size", "int64",
                        fmt::format("{}", record::sample_count(m))));
  add_number(all, "nv/cold/time/gpu/min", "duration", m.time_s->min);
  add_number(all, "nv/cold/time/gpu/mean", "duration", m.time_s->mean);
  add_number(all, "nv/cold/time/gpu/median", "duration", m.time_s->median);
  add_spread(all, m);
  add_number(all, "nv/cold/bw/global/bytes_per_second", "byte_rate", m.bytes_per_s);
  add_number(all, "nv/cold/sm_clock_rate/mean", "frequency", record::mean_clock_hz(m));
  return json::json_array(all);
}

json::JsonText state_of(const ExportRow& row, const record::Settings& settings) {
  const record::Measurement& m = *row.measurement;
  std::string name = "Device=0";
  std::vector<json::JsonText> axes;
  for (const AxisValue& axis : axis_values_of(row)) {
    name += fmt::format(" {}={}", axis.name, axis.value);
    axes.push_back(axis_json(axis));
  }
  return json::json_object({{"name", name},
                            {"min_samples", settings.min_samples},
                            {"skip_time", -1.0},
                            {"timeout", settings.max_time_s},
                            {"device", 0},
                            {"type_config_index", 0},
                            {"axis_values", json::json_array(axes)},
                            {"summaries", summaries_of(row)},
                            {"is_skipped", !row.is_timed},
                            {"skip_reason", row.is_timed ? "" : m.reason}});
}

// The axes of a benchmark: each value that any of its states has, once.
json::JsonText axes_of(const std::vector<const ExportRow*>& rows) {
  std::vector<json::JsonText> axes;
  const std::size_t count = axis_values_of(*rows.front()).size();  // all are of one operation
  for (std::size_t axis = 0; axis < count; ++axis) {
    std::set<std::string> seen;
    std::vector<json::JsonText> values;
    for (const ExportRow* row : rows) {
      const std::string value = axis_values_of(*row)[axis].value;
      if (!seen.insert(value).second) continue;
      const bool is_integer = axis_values_of(*row)[axis].type == std::string_view("int64");
      values.push_back(
          json::json_object({{"input_string", value},
                             {"description", ""},
                             {"value", is_integer ? json::json_integer(std::stoll(value))
                                                  : json::json_string(value)}}));
    }
    const AxisValue first = axis_values_of(*rows.front())[axis];
    axes.push_back(json::json_object({{"name", first.name},
                                      {"type", first.type},
                                      {"flags", ""},
                                      {"values", json::json_array(values)}}));
  }
  return json::json_array(axes);
}

void add_benchmark(json::JsonStream& document, const std::vector<const ExportRow*>& rows,
                   std::size_t index, const record::Settings& settings) {
  const record::Measurement& first = *rows.front()->measurement;
  document.begin_object();
  document.add("name",
               json::json_string(fmt::format("{}/{}", first.cell.operation, first.variant)));
  document.add("index", json::json_integer(static_cast<std::int64_t>(index)));
  document.add("min_samples", json::json_integer(settings.min_samples));
  document.add("skip_time", json::json_number(-1.0));
  document.add("timeout", json::json_number(settings.max_time_s));
  document.add("devices", json::json_array({json::json_integer(0)}));
  document.add("axes", axes_of(rows));
  document.begin_array("states");
  for (const ExportRow* row : rows) document.add(state_of(*row, settings));
  document.end();
  document.end();
}

// The rows of each variant, in order of appearance.
std::vector<std::vector<const ExportRow*>> variants_of(const std::vector<ExportRow>& rows) {
  std::vector<std::vector<const ExportRow*>> variants;
  std::map<std::pair<std::string_view, std::string_view>, std::size_t> places;
  for (const ExportRow& row : rows) {
    const record::Measurement& m = *row.measurement;
    const auto [place, is_new] = places.try_emplace({m.cell.operation, m.variant}, variants.size());
    if (is_new) variants.emplace_back();
    variants[place->second].push_back(&row);
  }
  return variants;
}

}  // namespace

void to_nvbench(const record::Report& report, const json::TextSink& sink) {
  const std::vector<ExportRow> rows = export_rows(report);
  json::JsonStream document(sink);
  document.begin_object();
  document.add("meta", meta_of(report));
  document.add("devices", json::json_array({device_of(report)}));
  document.begin_array("benchmarks");
  std::size_t index = 0;
  for (const auto& variant : variants_of(rows)) {
    add_benchmark(document, variant, index++, report.settings);
  }
  document.end();
  document.end();
  document.finish();
}

}  // namespace nf4bench::exports
