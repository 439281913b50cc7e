#pragma once

// What the JSON forms of comparisons and histories share.

#include "compare/cell_key.hpp"
#include "json/json_text.hpp"

#include <vector>

namespace nf4bench::compare {

// The fields that name a cell, spelt as in a report.
std::vector<json::JsonMember> key_members(const CellKey& key);

}  // namespace nf4bench::compare
