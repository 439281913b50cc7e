#pragma once

#include "compare/run_cells.hpp"
#include "statistics/statistics.hpp"

#include <span>

namespace nf4bench::compare {

// What an interval rests on besides the runs themselves.
struct ChangeModel {
  double run_noise = 0.005;  // relative standard deviation of a median from run to run, at least
  int cells = 1;             // intervals that are to hold all at once
};

// How much a cell changed. Logarithms: 0.02 is 2 % slower, near enough.
struct Change {
  double log_ratio = 0.0;   // cost of the new side over that of the old; above 0 is slower
  double half_width = 0.0;  // of its interval
  bool runs_agree = true;   // false when runs of one side differ more than run_noise explains
};

// All intervals of a comparison hold their true changes at once, but for this chance.
inline constexpr double kFamilyError = 0.01;

// Compares runs, not samples: a side is the mean over its runs, each of which deviates by run_noise
// and by what its samples leave open. Where runs of a side contradict run_noise, their own scatter
// takes its place. Each side has at least one run.
Change estimate_change(std::span<const RunValue> base, std::span<const RunValue> fresh,
                       const ChangeModel& model);

// The change as a ratio of costs, and its interval.
statistics::Interval ratio_interval(const Change& change);

}  // namespace nf4bench::compare
