#include "exports/export.hpp"
#include "exports/rows.hpp"
#include "record/samples.hpp"
#include "text/units.hpp"

#include <fmt/format.h>

namespace nf4bench::exports {
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
      {{"name", json::json_string(report.device.name + '/' + row.name)},
       {"unit", json::json_string(figure.unit)},
       {"value", json::json_number(figure.value)},
       {"range", json::json_string(figure.spread ? number_text(figure.spread) : "too few samples")},
       {"extra", json::json_string(extra)}});
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

}  // namespace nf4bench::exports
