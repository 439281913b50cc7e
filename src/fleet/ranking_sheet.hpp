#pragma once

#include "fleet/analysis.hpp"
#include "text/sheet.hpp"

namespace nf4bench::fleet {

// The units of a group by rank; all of them, or those that are remarkable and the `most` slowest.
text::Sheet units_sheet(const Group& group, const GroupAnalysis& analysis, std::size_t most);

// The cells of a group, in its order.
text::Sheet cells_sheet(const Group& group, const GroupAnalysis& analysis);

// The `most` of them that a unit measured and that differ most, those first.
text::Sheet spread_sheet(const Group& group, const GroupAnalysis& analysis, std::size_t most);

// The `most` cells of `unit` in which it is slowest, those first, beside the other units' times.
text::Sheet unit_cells_sheet(const Group& group, const GroupAnalysis& analysis, std::size_t unit,
                             std::size_t most);

}  // namespace nf4bench::fleet
