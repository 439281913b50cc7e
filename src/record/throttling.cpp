#include "record/throttling.hpp"

#include "record/sample_digest.hpp"

#include <algorithm>

namespace nf4bench::record {

void mark_throttled(std::vector<Measurement>& cell) {
  double highest = 0.0;
  for (const Measurement& row : cell) {
    for (const double clock : row.sm_clock_hz) highest = std::max(highest, clock);
  }
  const double limit = (1.0 - kThrottledBelowHighest) * highest;
  for (Measurement& row : cell) {
    if (row.sm_clock_hz.empty()) continue;
    row.throttled_samples = std::count_if(row.sm_clock_hz.begin(), row.sm_clock_hz.end(),
                                          [limit](double clock) { return clock < limit; });
  }
}

double throttled_share(const Measurement& measurement) {
  const std::int64_t samples = sample_count(measurement);
  if (!measurement.throttled_samples || samples == 0) return 0.0;
  return static_cast<double>(*measurement.throttled_samples) / static_cast<double>(samples);
}

}  // namespace nf4bench::record
