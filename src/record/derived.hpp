#pragma once

// What rows say that follows from their samples and from the device's rates: computed when a row is
// made, and again by whoever doubts it.

#include "record/device_info.hpp"
#include "record/measurement.hpp"

#include <string>
#include <vector>

namespace nf4bench::record {

// A measured rate or clock may exceed the nominal one by as much as clocks do.
inline constexpr double kPeakTolerance = 1.02;

// The memory's peak binds where buffers rotate that are so many times as large as the last-level
// cache.
inline constexpr int kLargeRotation = 4;

// Fills in bytes_per_s, flops_per_s, fraction_of_copy and roof of a row with a time; what they need
// may be missing, then they are.
void derive_rates(Measurement& row, const Ceilings& ceilings);

// Fills in the speedup of every row of one cell that passed, if the baseline's row did.
void derive_speedups(const std::string& baseline, std::vector<Measurement>& rows);

}  // namespace nf4bench::record
