#include "record/sample_digest.hpp"

#include "statistics/log_error.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace nf4bench::record {
namespace {

bool has_valid_samples(const Measurement& measurement) {
  const std::vector<double>& samples = measurement.samples_s;
  return !samples.empty() && std::all_of(samples.begin(), samples.end(), [](double sample) {
    return std::isfinite(sample) && sample > 0.0;
  });
}

}  // namespace

SampleDigest digest_of(const Measurement& measurement) {
  if (measurement.digest) return *measurement.digest;
  SampleDigest digest;
  digest.count = sample_count(measurement);
  if (digest.count > 0) digest.log_error = statistics::log_median_error(measurement.samples_s);
  digest.mean_clock_hz = mean_clock_hz(measurement);
  if (digest.mean_clock_hz) digest.median_clock_hz = statistics::median(measurement.sm_clock_hz);
  return digest;
}

std::int64_t sample_count(const Measurement& measurement) {
  return measurement.digest ? measurement.digest->count
                            : static_cast<std::int64_t>(measurement.samples_s.size());
}

std::optional<double> mean_clock_hz(const Measurement& measurement) {
  if (measurement.digest) return measurement.digest->mean_clock_hz;
  const std::vector<double>& clocks = measurement.sm_clock_hz;
  if (clocks.empty()) return std::nullopt;
  return std::accumulate(clocks.begin(), clocks.end(), 0.0) / static_cast<double>(clocks.size());
}

void leave_out_samples(Measurement& measurement) {
  if (!has_valid_samples(measurement)) return;
  measurement.digest = digest_of(measurement);
  measurement.samples_s = {};
  measurement.sm_clock_hz = {};
}

}  // namespace nf4bench::record
