#pragma once

#include "compare/compare_reports.hpp"
#include "text/sheet.hpp"

namespace nf4bench::compare {

// All cells: a section for each geometry and launch mode, with a row for each variant.
text::Sheet cells_sheet(const ComparisonResult& result);

// The first `most` of the cells that are not SAME, in one section, the most urgent verdicts first.
text::Sheet news_sheet(const ComparisonResult& result, std::size_t most);

}  // namespace nf4bench::compare
