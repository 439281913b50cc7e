#pragma once

#include "record/measurement.hpp"

namespace nf4bench::record {

// A sample counts as throttled when its SM clock lies more than this fraction under the highest
// clock of its row. Not of other rows: a clock also depends on what a variant keeps busy. Under
// products of the tensor cores that of an H200 falls by about a tenth at once, and stays there.
inline constexpr double kThrottledBelowHighest = 0.05;

// Fills in throttled_samples of a row that has clocks. No sample is dropped.
void mark_throttled(Measurement& row);

// Throttled samples over all samples; 0 where clocks are not known.
double throttled_share(const Measurement& measurement);

}  // namespace nf4bench::record
