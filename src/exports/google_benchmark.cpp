#include "exports/export.hpp"
#include "exports/rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace nf4bench {
namespace {

// Their compare script prints times without decimals: seconds would all read 0.
constexpr double kNanoseconds = 1e9;

std::string lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

// "fused/...: failed: 12 of 64 elements differ; ..."
std::string untimed_rows(const std::vector<ExportRow>& rows) {
  std::string text;
  for (const ExportRow& row : rows) {
    if (row.is_timed) continue;
    if (!text.empty()) text += "; ";
    text += fmt::format("{}: {}: {}", row.name, to_string(row.measurement->status),
                        row.measurement->reason);
  }
  return text;
}

JsonText context_of(const Report& report, const std::vector<ExportRow>& rows) {
  return json_object(
      {{"date", json_string(report.started_at)},
       {"host_name", json_string(report.host.name)},
       {"executable", json_string(report.command.empty() ? "nf4bench" : report.command.front())},
       {"num_cpus", json_integer(report.host.threads)},
       {"caches", json_array({})},
       {"library_version", json_string("nf4bench " + report.tool.version)},
       {"library_build_type", json_string(lower_case(report.tool.build_type))},
       {"json_schema_version", json_integer(1)},
       {"device", json_string(report.device.name)},
       {"device_driver", json_string(report.device.driver)},
       {"nf4bench_complete", json_string(report.complete ? "true" : "false")},
       {"nf4bench_not_timed", json_string(untimed_rows(rows))}});
}

// Where a row stands: families are variants, instances their cells.
struct Place {
  std::int64_t family = 0;
  std::int64_t instance = 0;
};

std::vector<JsonMember> head_of(const ExportRow& row, const Place& place,
                                const std::string& suffix) {
  return {
      {"name", json_string(row.name + suffix)},
      {"family_index", json_integer(place.family)},
      {"per_family_instance_index", json_integer(place.instance)},
      {"run_name", json_string(row.name)},
      {"run_type", json_string(suffix.empty() ? "iteration" : "aggregate")},
      {"repetitions", json_integer(static_cast<std::int64_t>(row.measurement->samples_s.size()))},
      {"threads", json_integer(1)}};
}

// GPU time is wall time here; cpu_time is there because their tools want both.
void add_times(std::vector<JsonMember>& members, double seconds, const Measurement& m) {
  members.push_back({"real_time", json_number(seconds * kNanoseconds)});
  members.push_back({"cpu_time", json_number(seconds * kNanoseconds)});
  members.push_back({"time_unit", json_string("ns")});
  if (seconds > 0.0) {
    const auto bytes = static_cast<double>(m.bytes_read + m.bytes_written);
    members.push_back({"bytes_per_second", json_number(bytes / seconds)});
  }
}

void add_samples(std::vector<JsonText>& entries, const ExportRow& row, const Place& place) {
  const Measurement& m = *row.measurement;
  for (std::size_t i = 0; i < m.samples_s.size(); ++i) {
    std::vector<JsonMember> members = head_of(row, place, "");
    members.push_back({"repetition_index", json_integer(static_cast<std::int64_t>(i))});
    members.push_back({"iterations", json_integer(m.launches_per_sample)});
    add_times(members, m.samples_s[i], m);
    if (i < m.sm_clock_hz.size()) {
      members.push_back({"sm_clock_hz", json_number(m.sm_clock_hz[i])});
    }
    entries.push_back(json_object(members));
  }
}

void add_aggregate(std::vector<JsonText>& entries, const ExportRow& row, const Place& place,
                   const std::string& name, double seconds) {
  const Measurement& m = *row.measurement;
  std::vector<JsonMember> members = head_of(row, place, '_' + name);
  members.push_back({"aggregate_name", json_string(name)});
  members.push_back({"aggregate_unit", json_string("time")});
  members.push_back({"iterations", json_integer(static_cast<std::int64_t>(m.samples_s.size()))});
  add_times(members, seconds, m);
  entries.push_back(json_object(members));
}

}  // namespace

std::string to_google_benchmark(const Report& report) {
  const std::vector<ExportRow> rows = export_rows(report);
  std::vector<std::string> families;
  std::vector<std::int64_t> sizes;
  std::vector<JsonText> entries;
  for (const ExportRow& row : rows) {
    if (!row.is_timed) continue;
    const auto found = std::find(families.begin(), families.end(), row.measurement->variant);
    const auto family = static_cast<std::size_t>(found - families.begin());
    if (found == families.end()) {
      families.push_back(row.measurement->variant);
      sizes.push_back(0);
    }
    const Place place{static_cast<std::int64_t>(family), sizes[family]++};
    add_samples(entries, row, place);
    add_aggregate(entries, row, place, "mean", row.measurement->time_s->mean);
    add_aggregate(entries, row, place, "median", row.measurement->time_s->median);
  }
  return json_object({{"context", context_of(report, rows)}, {"benchmarks", json_array(entries)}})
             .text +
         '\n';
}

}  // namespace nf4bench
