#include "exports/export.hpp"
#include "exports/rows.hpp"

namespace nf4bench::exports {
namespace {

constexpr double kNanoseconds = 1e9;  // a second: what Bencher takes latencies in

json::JsonText measure(double value, double low, double high) {
  return json::json_object({{"value", json::json_number(value)},
                            {"lower_value", json::json_number(low)},
                            {"upper_value", json::json_number(high)}});
}

json::JsonText measures_of(const record::Measurement& m) {
  const statistics::Summary& time = *m.time_s;
  std::vector<json::JsonMember> members = {
      {"latency", measure(time.median * kNanoseconds, time.ci95.low * kNanoseconds,
                          time.ci95.high * kNanoseconds)}};
  if (m.bytes_per_s && time.ci95.low > 0.0) {
    const double bytes = *m.bytes_per_s * time.median;
    members.push_back(
        {"throughput", measure(*m.bytes_per_s, bytes / time.ci95.high, bytes / time.ci95.low)});
  }
  if (m.speedup) {
    members.push_back(
        {"speedup", measure(m.speedup->ratio, m.speedup->ci95.low, m.speedup->ci95.high)});
  }
  return json::json_object(members);
}

}  // namespace

std::string to_bencher(const record::Report& report) {
  const std::vector<ExportRow> rows = export_rows(report);
  std::vector<json::JsonMember> benchmarks;
  for (const ExportRow& row : rows) {
    if (row.is_timed) benchmarks.push_back({row.name, measures_of(*row.measurement)});
  }
  return json::json_object(benchmarks).text + '\n';
}

}  // namespace nf4bench::exports
