#pragma once

#include "statistics/statistics.hpp"

#include <span>

namespace nf4bench::statistics {

// The standard error of the logarithm of a value whose 95 % interval (positive ends) this is.
double log_error(const Interval& ci95);

// The standard error of the logarithm of the median of `samples` (positive, in the order taken):
// the greater of what their order statistics (of fewer than six their range) and, from 32 samples
// on, what the medians of eight consecutive parts say. The latter sees clocks that drift.
double log_median_error(std::span<const double> samples);

}  // namespace nf4bench::statistics
