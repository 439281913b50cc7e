#pragma once

// The table that "ncu --csv --page raw" prints.

#include <map>
#include <string>
#include <vector>

namespace nf4bench::bench {

// A kernel that was counted: its values by the names of the metrics, in bytes, seconds, shares of 1
// and counts. What is no number ("n/a"), or of a unit that is not known, is not among them.
using NcuKernel = std::map<std::string, double>;

// Those of all tables in `text`.
std::vector<NcuKernel> ncu_kernels_in(const std::string& text);

}  // namespace nf4bench::bench
