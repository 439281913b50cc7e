#pragma once

#include "site/site.hpp"
#include "text/sheet.hpp"

#include <vector>

namespace nf4bench::site {

// Every entry of a card, for programs.
text::Sheet entries_sheet(const Card& card);

// The same for people: a sheet for each operation, a section for each type and mode, times by
// tokens.
std::vector<text::Sheet> times_sheets(const Card& card);

// A row for each card, with the fastest of a few cells.
text::Sheet cards_sheet(const Site& site);

text::Sheet left_out_sheet(const Site& site);

}  // namespace nf4bench::site
