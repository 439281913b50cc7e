#include "compare/result/change_text.hpp"

#include "base/text.hpp"
#include "text/units.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

namespace nf4bench::compare {

double shown_change(double log_ratio, Metric metric) {
  return std::expm1(is_cost(metric) ? log_ratio : -log_ratio);
}

text::Unit unit_of(Metric metric) {
  return metric == Metric::kTime      ? text::Unit::kSeconds
         : metric == Metric::kSpeedup ? text::Unit::kRatio
         : metric == Metric::kEnergy  ? text::Unit::kJoules
                                      : text::Unit::kFraction;
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
