#pragma once

// How changes are written, shared by all forms of output.

#include "compare/compare_reports.hpp"
#include "compare/gate.hpp"

#include <string>
#include <vector>

namespace nf4bench::compare {

// A relative change of the metric's own value: time that grows and speedup that falls are both
// slower.
struct ShownChange {
  double change = 0.0;
  statistics::Interval interval;
};
ShownChange shown_change(const Change& change, Metric metric);
double shown_change(double log_ratio, Metric metric);

// "+5.2 %"
std::string percent_text(double relative);

// "[+4.9, +5.5]"
std::string percent_interval_text(const statistics::Interval& relative);

// A side's value as a block of cells shows it: "36.52 us", "3.371x" or "95.0 %".
struct ValueFormat {
  Metric metric = Metric::kTime;
  double unit_s = 1.0;
  std::string unit = "s";
  int decimals = 3;

  std::string text(double value) const;
};
ValueFormat value_format(Metric metric, const std::vector<double>& values);

// "2 SLOWER, 40 SAME"
std::string counts_text(const ComparisonResult& result);

// "passed", "passed, 5 of 6 undecided", "inconclusive" or "failed"
std::string outcome_text(const ComparisonResult& result, const GateDecision& decision);

// What to do about undecided cells of a gate that did not fail; empty when there is none.
std::string undecided_hint(const ComparisonResult& result, const GateDecision& decision);

// "time, threshold 2.0 % (4 x the run-to-run noise of 0.5 %: ...)"
std::string rule_text(const ComparisonResult& result);

// "base.json" or "3 runs", with when and at which commit.
std::string side_text(const std::vector<ReportLabel>& side);

}  // namespace nf4bench::compare
