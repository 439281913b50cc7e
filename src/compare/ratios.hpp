#pragma once

#include "record/report.hpp"

#include <cstdint>
#include <optional>

namespace nf4bench::compare {

// The times of one report over those of another, in the cells that both measured.
struct TimeRatios {
  std::int64_t cells = 0;
  double mean = 1.0;  // geometric
  double lowest = 1.0;
  double highest = 1.0;
  std::optional<double> clock;  // SM clocks likewise; absent where one report has none
};

// `fresh` over `base`. No verdict: see compare_reports() for that.
TimeRatios time_ratios(const record::Report& base, const record::Report& fresh);

}  // namespace nf4bench::compare
