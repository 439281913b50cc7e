#include "exports/export.hpp"
#include "exports/rows.hpp"

namespace nf4bench::exports {
namespace {

using Ends = statistics::Interval;

// `ends` are those of its interval, where there is one.
json::JsonText measure(double value, const std::optional<Ends>& ends) {
  std::vector<json::JsonMember> members = {{"value", json::json_number(value)}};
  if (ends) {
    members.push_back({"lower_value", json::json_number(ends->low)});
    members.push_back({"upper_value", json::json_number(ends->high)});
  }
  return json::json_object(members);
}

// `ends` in another unit; none without them.
template <typename Function>
std::optional<Ends> mapped(const std::optional<Ends>& ends, Function&& function) {
  return ends ? std::optional(function(*ends)) : std::nullopt;
}

json::JsonText measures_of(const record::Measurement& m) {
  const statistics::Summary& time = *m.time_s;
  std::vector<json::JsonMember> members = {
      {"latency", measure(time.median * kNanoseconds, mapped(time.ci95, [](const Ends& s) {
                            return Ends{s.low * kNanoseconds, s.high * kNanoseconds};
                          }))}};
  if (m.bytes_per_s && !(time.ci95 && time.ci95->low <= 0.0)) {
    const double bytes = *m.bytes_per_s * time.median;
    members.push_back(
        {"throughput", measure(*m.bytes_per_s, mapped(time.ci95, [bytes](const Ends& s) {
           return Ends{bytes / s.high, bytes / s.low};
         }))});
  }
  if (m.speedup) members.push_back({"speedup", measure(m.speedup->ratio, m.speedup->ci95)});
  return json::json_object(members);
}

}  // namespace

void to_bencher(const record::Report& report, const json::TextSink& sink) {
  json::JsonStream benchmarks(sink);
  benchmarks.begin_object();
  for (const ExportRow& row : export_rows(report)) {
    if (row.is_timed) benchmarks.add(row.name, measures_of(*row.measurement));
  }
  benchmarks.end();
  benchmarks.finish();
}

}  // namespace nf4bench::exports
