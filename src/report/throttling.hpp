#pragma once

#include <string>
#include <vector>

#include "report/report.hpp"

namespace nf4bench {

// What a reader of the times should know about clocks that were held down: at most one sentence on
// the cells in which many samples of a variant were throttled, and one on what the driver said.
std::vector<std::string> throttling_warnings(const Report& report);

}  // namespace nf4bench
