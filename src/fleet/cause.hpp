#pragma once

#include "fleet/analysis.hpp"

#include <string>

namespace nf4bench::fleet {

// Why the unit of `summary` may be slow, as far as the reports tell: "another process", "power
// cap", "heat", "low clock", "memory only" or "unknown". Deviations beyond `threshold` count.
std::string likely_cause(const Group& group, const UnitSummary& summary, double threshold);

}  // namespace nf4bench::fleet
