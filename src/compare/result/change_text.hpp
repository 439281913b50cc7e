#pragma once

// What all forms of output say of a comparison in the same words.

#include "compare/compare_reports.hpp"
#include "compare/gate.hpp"
#include "text/sheet.hpp"

#include <string>
#include <vector>

namespace nf4bench::compare {

// A relative change of the metric's own value: time that grows and speedup that falls are both
// slower.
double shown_change(double log_ratio, Metric metric);

// The unit of a metric's values.
text::Unit unit_of(Metric metric);

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
