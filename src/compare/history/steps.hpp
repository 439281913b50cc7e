#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace nf4bench::compare {

// A place at which a series moved to another level.
struct LevelStep {
  std::size_t index = 0;  // of the first value on the new level
  double change = 0.0;    // median of the new level minus that of the old one
};

struct StepModel {
  double noise = 0.005;     // standard deviation of a value about its level, at least
  double threshold = 0.02;  // smaller steps are not told
};

// A level holds at least this many values: one or two odd runs are no step.
inline constexpr std::size_t kShortestLevel = 3;

// Splits `values`, in the order of time, into levels. The best split has the smallest sum of a
// price for each level and of the absolute deviations from the levels' medians, in standard
// deviations. Absolute deviations make single wild values harmless. The noise is estimated from
// neighbouring values where it is greater than the model's. Steps to a level of too few values of
// its own and steps below the threshold are merged away.
std::vector<LevelStep> find_steps(std::span<const double> values, const StepModel& model);

}  // namespace nf4bench::compare
