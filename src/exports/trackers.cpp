#include "exports/export.hpp"
#include "exports/rows.hpp"
#include "record/samples.hpp"
#include "text/units.hpp"

#include <fmt/format.h>

#include <optional>
#include <string>

namespace nf4bench::exports {
namespace {

using Ends = statistics::Interval;

// `ends` are those of its interval, where there is one.
json::JsonText measure(double value, const std::optional<Ends>& ends) {
  std::vector<json::JsonMember> members = {{"value", value}};
  if (ends) {
    members.push_back({"lower_value", ends->low});
    members.push_back({"upper_value", ends->high});
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

namespace {

// A figure with what is known of its uncertainty.
struct Figure {
  const char* unit = "";
  double value = 0.0;
  std::optional<double> spread{};  // none with too few samples
};

std::optional<double> scaled(std::optional<double> relative, double value) {
  return relative ? std::optional(*relative * value) : std::nullopt;
}

// The action compares by name alone: the name has to say which machine the number is from.
json::JsonText entry(const record::Report& report, const ExportRow& row, const Figure& figure) {
  const record::Measurement& m = *row.measurement;
  std::string extra = fmt::format(
      "median of {}; driver {}; nf4bench {}", text::format_count(record::sample_count(m), "sample"),
      report.device.driver.empty() ? "none" : report.device.driver, report.tool.version);
  return json::json_object(
      {{"name", report.device.name + '/' + row.name},
       {"unit", figure.unit},
       {"value", figure.value},
       {"range", figure.spread ? number_text(figure.spread) : "too few samples"},
       {"extra", extra}});
}

}  // namespace

void to_github_action(const record::Report& report, ActionMetric metric,
                      const json::TextSink& sink) {
  json::JsonStream entries(sink);
  entries.begin_array();
  for (const ExportRow& row : export_rows(report)) {
    if (!row.is_timed) continue;
    const record::Measurement& m = *row.measurement;
    const statistics::Summary& time = *m.time_s;
    const std::optional<double> relative = statistics::relative_half_width(time);
    if (metric == ActionMetric::kTime) {
      entries.add(entry(report, row, {"s", time.median, scaled(relative, time.median)}));
    } else if (metric == ActionMetric::kBandwidth && m.bytes_per_s) {
      entries.add(
          entry(report, row, {"bytes/s", *m.bytes_per_s, scaled(relative, *m.bytes_per_s)}));
    } else if (metric == ActionMetric::kSpeedup && m.speedup) {
      std::optional<double> spread;
      if (m.speedup->ci95) spread = (m.speedup->ci95->high - m.speedup->ci95->low) / 2.0;
      entries.add(entry(report, row, {"x", m.speedup->ratio, spread}));
    }
  }
  entries.end();
  entries.finish();
}

namespace {

// A name that a pattern can match: no blanks, and no second "=". Others may stand in the names of
// peers and tensors.
std::string word_of(const std::string& name) {
  std::string word = name;
  for (char& c : word) {
    if (c <= ' ' || c > '~' || c == '=') c = '_';
  }
  return word;
}

std::optional<double> value_of(const record::Measurement& m, ActionMetric metric) {
  switch (metric) {
    case ActionMetric::kTime:
      return m.time_s->median;
    case ActionMetric::kBandwidth:
      return m.bytes_per_s;
    case ActionMetric::kSpeedup:
      return m.speedup ? std::optional(m.speedup->ratio) : std::nullopt;
  }
  return std::nullopt;
}

const char* unit_of(ActionMetric metric) {
  return metric == ActionMetric::kTime ? "s" : metric == ActionMetric::kBandwidth ? "bytes/s" : "x";
}

}  // namespace

void to_reframe(const record::Report& report, ActionMetric metric, const json::TextSink& sink) {
  sink(fmt::format("# nf4bench: {}, {}\n", word_of(report.device.name),
                   word_of(report.device.uuid.empty() ? report.host.name : report.device.uuid)));
  for (const ExportRow& row : export_rows(report)) {
    const auto value = row.is_timed ? value_of(*row.measurement, metric) : std::nullopt;
    if (!value) continue;
    sink(fmt::format("{}={} {}\n", word_of(row.name), number_text(*value), unit_of(metric)));
  }
}

}  // namespace nf4bench::exports
