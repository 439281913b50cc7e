#include "record/throttling.hpp"

#include "record/sample_digest.hpp"

#include <algorithm>

namespace nf4bench::record {

void mark_throttled(Measurement& row) {
  const std::vector<double>& clocks = row.sm_clock_hz;
  if (clocks.empty()) return;
  const double highest = *std::max_element(clocks.begin(), clocks.end());
  const double limit = (1.0 - kThrottledBelowHighest) * highest;
  row.throttled_samples =
      std::count_if(clocks.begin(), clocks.end(), [limit](double clock) { return clock < limit; });
}

double throttled_share(const Measurement& measurement) {
  const std::int64_t samples = sample_count(measurement);
  if (!measurement.throttled_samples || samples == 0) return 0.0;
  return static_cast<double>(*measurement.throttled_samples) / static_cast<double>(samples);
}

}  // namespace nf4bench::record
