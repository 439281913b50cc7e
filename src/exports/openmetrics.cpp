#include "exports/export.hpp"
#include "exports/rows.hpp"
#include "report/host.hpp"
#include "text/printers.hpp"

#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <utility>
#include <vector>

namespace nf4bench::exports {
namespace {

using Labels = std::vector<std::pair<const char*, std::string>>;
using Value = std::optional<double>;

// Writes metrics one after the other: its description, then its series. One without a series that
// has a value is left out.
class Metrics {
 public:
  explicit Metrics(const json::TextSink& sink) : sink_(sink) {}

  void begin(std::string name, const char* help) {
    name_ = std::move(name);
    head_ = fmt::format("# HELP {} {}\n# TYPE {} gauge\n", name_, help, name_);
  }

  void add(const Labels& labels, const Value& value) {
    if (!value || !std::isfinite(*value)) return;
    std::string text = std::exchange(head_, "") + name_ + '{';
    for (const auto& [name, label] : labels) {
      text +=
          fmt::format("{}{}=\"{}\"", text.back() == '{' ? "" : ",", name, text::in_label(label));
    }
    sink_(text + fmt::format("}} {}\n", number_text(*value)));
  }

 private:
  const json::TextSink& sink_;
  std::string name_;
  std::string head_;  // until the first series
};

// What tells units apart, in all series.
Labels unit_labels(const record::Report& report) {
  return {{"uuid", report.device.uuid}, {"gpu", report.device.name}, {"host", report.host.name}};
}

Labels row_labels(const Labels& unit, const ExportRow& row) {
  const record::Measurement& m = *row.measurement;
  Labels labels = unit;
  labels.insert(labels.end(),
                {{"cell", row.name},
                 {"operation", m.cell.operation},
                 {"variant", m.variant},
                 {"shape", shape_name(row)},
                 {"tokens", m.cell.tokens > 0 ? fmt::format("{}", m.cell.tokens) : ""},
                 {"dtype", to_string(m.cell.output_type)},
                 {"cache", to_string(m.cell.cache)},
                 {"launch", to_string(m.cell.launch)}});
  return labels;
}

Value if_measured(double value) {
  return value > 0.0 ? Value(value) : std::nullopt;
}

struct RowMetric {
  const char* name;
  const char* help;
  std::function<Value(const ExportRow&)> value;
};

const std::vector<RowMetric>& row_metrics() {
  const auto if_timed = [](auto&& value) {
    return [value](const ExportRow& row) {
      return row.is_timed ? Value(value(*row.measurement)) : std::nullopt;
    };
  };
  static const std::vector<RowMetric> kMetrics = {
      {"nf4bench_measurement_passed", "Whether the output was right and the time is valid.",
       [](const ExportRow& row) {
         return Value(row.measurement->status == record::Status::kPassed ? 1.0 : 0.0);
       }},
      {"nf4bench_call_seconds", "Median time of a call.",
       if_timed([](const record::Measurement& m) -> Value { return m.time_s->median; })},
      {"nf4bench_call_bytes_per_second", "Bytes of the format over that time.",
       if_timed([](const record::Measurement& m) { return m.bytes_per_s; })},
      {"nf4bench_call_copy_ratio", "That rate over the rate of a copy.",
       if_timed([](const record::Measurement& m) { return m.fraction_of_copy; })},
      {"nf4bench_call_speedup_ratio", "Time of the baseline over that time.",
       if_timed([](const record::Measurement& m) {
         return m.speedup ? Value(m.speedup->ratio) : std::nullopt;
       })},
  };
  return kMetrics;
}

void add_unit_metrics(Metrics& metrics, const record::Report& report, const Labels& unit) {
  metrics.begin("nf4bench_build_info", "What made the report.");
  Labels build = unit;
  build.insert(build.end(), {{"version", report.tool.version},
                             {"commit", report.tool.git_commit},
                             {"driver", report.device.driver}});
  metrics.add(build, 1.0);
  metrics.begin("nf4bench_run_complete", "Whether the run finished.");
  metrics.add(unit, report.complete ? 1.0 : 0.0);
  metrics.begin("nf4bench_last_run_timestamp_seconds", "When the run finished.");
  metrics.add(unit, report::seconds_of(report.finished_at));
  metrics.begin("nf4bench_copy_bytes_per_second", "Bytes read and written by a copy.");
  metrics.add(unit, if_measured(report.ceilings.copy_bytes_per_s));
  const record::DeviceState& state = report.state_after.value_or(report.state_before);
  metrics.begin("nf4bench_temperature_celsius", "Of the device after the run.");
  metrics.add(unit, state.temperature_c);
  metrics.begin("nf4bench_power_watts", "Of the device after the run.");
  metrics.add(unit, state.power_w);
}

}  // namespace

void to_openmetrics(const record::Report& report, const json::TextSink& sink) {
  Metrics metrics(sink);
  const Labels unit = unit_labels(report);
  add_unit_metrics(metrics, report, unit);
  const std::vector<ExportRow> rows = export_rows(report);
  for (const RowMetric& metric : row_metrics()) {
    metrics.begin(metric.name, metric.help);
    for (const ExportRow& row : rows) metrics.add(row_labels(unit, row), metric.value(row));
  }
  sink("# EOF\n");
}

}  // namespace nf4bench::exports
