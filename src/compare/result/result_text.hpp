#pragma once

#include "compare/compare_reports.hpp"
#include "compare/gate.hpp"
#include "text/document.hpp"
#include "text/page.hpp"

#include <string>

namespace nf4bench::compare {

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
