#include "exports/export.hpp"
#include "exports/rows.hpp"

#include <fmt/format.h>

#include <optional>
#include <string>

namespace nf4bench::exports {
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
