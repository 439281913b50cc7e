#pragma once

#include "compare/compare_reports.hpp"
#include "compare/gate.hpp"
#include "text/document.hpp"
#include "text/page.hpp"
#include "text/sheet.hpp"

#include <string>

namespace nf4bench::compare {

// What all forms of output say of a comparison in the same words.

// A relative change of the metric's own value: time that grows and speedup that falls are both
// slower.
double shown_change(double log_ratio, Metric metric);

// The unit of a metric's values.
text::Unit unit_of(Metric metric);

// "2 SLOWER, 40 SAME"
std::string counts_text(const ComparisonResult& result);

// "time, threshold 2.0 % (4 x the run-to-run noise of 0.5 %: ...)"
std::string rule_text(const ComparisonResult& result);

// All cells: a section for each geometry and launch mode, with a row for each variant.
text::Sheet cells_sheet(const ComparisonResult& result);

// The first `most` of the cells that are not SAME, in one section, the most urgent verdicts first.
text::Sheet news_sheet(const ComparisonResult& result, std::size_t most);

// The forms in which a comparison is shown; `decision` is null when there was no gate.

// For a terminal: a block for each geometry and launch mode, with a row for each variant.
std::string comparison_table(const ComparisonResult& result, const GateDecision* decision,
                             const text::Style& style);

// For a comment on a pull request: a headline, and a table of what is not SAME, failures first.
text::Document comparison_document(const ComparisonResult& result, const GateDecision* decision);

inline constexpr const char* kComparisonSchema = "nf4bench.comparison";
inline constexpr const char* kComparisonSchemaVersion = "1.0.0";

// For programs, as docs/comparison.schema.json describes. Ends in a newline.
std::string comparison_json(const ComparisonResult& result, const GateDecision* decision);

}  // namespace nf4bench::compare
