#include "exports/export.hpp"
#include "exports/rows.hpp"
#include "record/samples.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <string_view>
#include <utility>

namespace nf4bench::exports {
namespace {

// Their compare script prints times without decimals: seconds would all read 0.

std::string lower_case(std::string text) {
  std::ranges::transform(text, text.begin(),
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

json::JsonText context_of(const record::Report& report, const std::vector<ExportRow>& rows) {
  return json::json_object(
      {{"date", report.started_at},
       {"host_name", report.host.name},
       {"executable", report.command.empty() ? "nf4bench" : report.command.front()},
       {"num_cpus", report.host.threads},
       {"caches", json::json_array({})},
       {"library_version", "nf4bench " + report.tool.version},
       {"library_build_type", lower_case(report.tool.build_type)},
       {"json_schema_version", 1},
       {"device", report.device.name},
       {"device_driver", report.device.driver},
       {"nf4bench_complete", report.complete ? "true" : "false"},
       {"nf4bench_not_timed", untimed_rows(rows)}});
}

// Where a row stands: families are variants, instances their cells.
struct Place {
  std::int64_t family = 0;
  std::int64_t instance = 0;
};

std::vector<json::JsonMember> head_of(const ExportRow& row, const Place& place,
                                      const std::string& suffix) {
  return {{"name", row.name + suffix},
          {"family_index", place.family},
          {"per_family_instance_index", place.instance},
          {"run_name", row.name},
          {"run_type", suffix.empty() ? "iteration" : "aggregate"},
          {"repetitions", record::sample_count(*row.measurement)},
          {"threads", 1}};
}

// GPU time is wall time here; cpu_time is there because their tools want both.
void add_times(std::vector<json::JsonMember>& members, double seconds,
               const record::Measurement& m) {
  members.push_back({"real_time", seconds * kNanoseconds});
  members.push_back({"cpu_time", seconds * kNanoseconds});
  members.push_back({"time_unit", "ns"});
  if (seconds > 0.0) {
    const double bytes = static_cast<double>(m.bytes_read) + static_cast<double>(m.bytes_written);
    members.push_back({"bytes_per_second", bytes / seconds});
  }
}

void add_samples(json::JsonStream& entries, const ExportRow& row, const Place& place) {
  const record::Measurement& m = *row.measurement;
  const std::vector<json::JsonMember> head = head_of(row, place, "");
  for (std::size_t i = 0; i < m.samples_s.size(); ++i) {
    std::vector<json::JsonMember> members = head;
    members.push_back({"repetition_index", i});
    members.push_back({"iterations", m.launches_per_sample});
    add_times(members, m.samples_s[i], m);
    if (i < m.sm_clock_hz.size()) {
      members.push_back({"sm_clock_hz", m.sm_clock_hz[i]});
    }
    entries.add(json::json_object(members));
  }
}

json::JsonText aggregate_of(const ExportRow& row, const Place& place, const std::string& name,
                            double seconds) {
  const record::Measurement& m = *row.measurement;
  std::vector<json::JsonMember> members = head_of(row, place, '_' + name);
  members.push_back({"aggregate_name", name});
  members.push_back({"aggregate_unit", "time"});
  members.push_back({"iterations", record::sample_count(m)});
  add_times(members, seconds, m);
  return json::json_object(members);
}

}  // namespace

void to_google_benchmark(const record::Report& report, const json::TextSink& sink) {
  const std::vector<ExportRow> rows = export_rows(report);
  // Of each variant's next row.
  std::map<std::pair<std::string_view, std::string_view>, Place> places;
  json::JsonStream document(sink);
  document.begin_object();
  document.add("context", context_of(report, rows));
  document.begin_array("benchmarks");
  for (const ExportRow& row : rows) {
    if (!row.is_timed) continue;
    const auto family = static_cast<std::int64_t>(places.size());
    const record::Measurement& m = *row.measurement;
    const auto key = std::pair<std::string_view, std::string_view>(m.cell.operation, m.variant);
    Place& next = places.try_emplace(key, Place{family, 0}).first->second;
    const Place place = next;
    ++next.instance;
    add_samples(document, row, place);
    document.add(aggregate_of(row, place, "mean", row.measurement->time_s->mean));
    document.add(aggregate_of(row, place, "median", row.measurement->time_s->median));
  }
  document.end();
  document.end();
  document.finish();
}

}  // namespace nf4bench::exports
