#include "compare/result/change_text.hpp"

#include "base/text.hpp"
#include "text/units.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

namespace nf4bench::compare {
namespace {

// Whether a higher cost shows as a lower value.
double direction(Metric metric) {
  return is_cost(metric) ? 1.0 : -1.0;
}

// Few decimals for what is large.
std::string signed_digits(double relative) {
  const double percent = 100.0 * relative;
  return fmt::format("{:+.{}f}", percent, std::abs(percent) < 99.95 ? 1 : 0);
}

}  // namespace

double shown_change(double log_ratio, Metric metric) {
  return std::expm1(direction(metric) * log_ratio);
}

ShownChange shown_change(const Change& change, Metric metric) {
  const double center = direction(metric) * change.log_ratio;
  return {
      .change = std::expm1(center),
      .interval = {std::expm1(center - change.half_width), std::expm1(center + change.half_width)}};
}

std::string percent_text(double relative) {
  return signed_digits(relative) + " %";
}

std::string percent_interval_text(const statistics::Interval& relative) {
  return fmt::format("[{}, {}]", signed_digits(relative.low), signed_digits(relative.high));
}

std::string ValueFormat::text(double value) const {
  switch (metric) {
    case Metric::kTime:
      return fmt::format("{:.{}f} {}", value / unit_s, decimals, unit);
    case Metric::kSpeedup:
      return text::format_ratio(value);
    case Metric::kFractionOfCopy:
      return text::format_percent(value) + " %";
    case Metric::kEnergy:
      return text::format_energy(value);
  }
  return "";
}

ValueFormat value_format(Metric metric, const std::vector<double>& values) {
  ValueFormat format;
  format.metric = metric;
  if (metric != Metric::kTime) return format;
  const text::TimeScale scale = text::time_scale(values);
  format.unit_s = scale.seconds;
  format.unit = scale.unit;
  format.decimals = scale.decimals;
  return format;
}

std::string counts_text(const ComparisonResult& result) {
  std::vector<std::string> counts;
  for (const CellVerdict verdict : kCellVerdicts) {
    const std::int64_t count = result.count(verdict);
    if (count > 0) counts.push_back(fmt::format("{} {}", count, to_string(verdict)));
  }
  return counts.empty() ? "no cell compared" : fmt::format("{}", fmt::join(counts, ", "));
}

std::string outcome_text(const ComparisonResult& result, const GateDecision& decision) {
  if (decision.code == ExitCode::kInconclusive) return "inconclusive";
  if (decision.code != ExitCode::kOk) return "failed";
  const std::int64_t undecided = result.count(CellVerdict::kUnsure);
  if (undecided == 0) return "passed";
  return fmt::format("passed, {} of {} undecided", undecided, result.cells.size());
}

std::string undecided_hint(const ComparisonResult& result, const GateDecision& decision) {
  if (decision.code == ExitCode::kGateFailed || result.count(CellVerdict::kUnsure) == 0) return "";
  return "nf4bench doctor says what keeps this machine from deciding";
}

std::string rule_text(const ComparisonResult& result) {
  return fmt::format("{}, threshold {} %, run-to-run noise {} % ({})", to_string(result.metric),
                     text::format_percent(result.threshold),
                     text::format_percent(result.noise.relative), result.noise.origin);
}

std::string side_text(const std::vector<ReportLabel>& side) {
  const ReportLabel& last = side.back();
  std::string text = escaped(last.name);
  if (side.size() > 1) text += fmt::format(" and {} more", side.size() - 1);
  if (!last.started_at.empty()) text += ", " + escaped(last.started_at);
  if (!last.git_commit.empty()) text += ", " + escaped(last.git_commit.substr(0, 12));
  return text;
}

}  // namespace nf4bench::compare
