#pragma once

// The parts of a fleet's page, shared by its source files.

#include "fleet/analysis.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace nf4bench::fleet {

// A group of units that were judged, as a page shows it. Borrowed.
struct PageGroup {
  const Group& group;
  const GroupAnalysis& analysis;
  std::size_t first_row = 0;  // of its units in the table of all: the first in the ranking
  std::string suffix;         // of the ids of its sections: "", "-2", "-3"
};

// "GPU-1234 node7", escaped.
std::string unit_name(const Unit& unit);

// The measured cells, those that the memory binds first.
std::vector<std::size_t> ordered_cells(const PageGroup& page);

// Whether there is something wrong with a unit, or may be.
bool stands_out(const UnitSummary& summary);

// The deviation of the slowest units, with the 95 % interval of its median over the cells.
std::string ranking_section(const PageGroup& page);

// The deviation of the slowest units in every cell, as colours.
std::string heat_section(const PageGroup& page);

// Each unit that stands out in every cell, against the range of the fleet; one at a time is shown.
std::string single_section(const std::vector<PageGroup>& pages);

// Rules that these drawings need besides those of every page.
extern const char* const kFleetStyle;

}  // namespace nf4bench::fleet
