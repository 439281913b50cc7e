#pragma once

#include "record/measurement.hpp"

#include <vector>

namespace nf4bench::record {

// A sample counts as throttled when its SM clock lies more than this fraction under the highest
// clock of its cell.
inline constexpr double kThrottledBelowHighest = 0.05;

// Fills in throttled_samples of the rows of one cell that have clocks. All rows are held to the
// highest clock that any of them shows: variants take turns, so they had the same chance at it.
// No sample is dropped.
void mark_throttled(std::vector<Measurement>& cell);

// Throttled samples over all samples; 0 where clocks are not known.
double throttled_share(const Measurement& measurement);

}  // namespace nf4bench::record
