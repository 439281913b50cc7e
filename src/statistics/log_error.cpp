#include "statistics/log_error.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace nf4bench::statistics {
namespace {

constexpr std::size_t kParts = 8;
constexpr double kNormal95 = 1.959964;  // half of a 95 % interval in standard errors

// Standard errors of a median over the median absolute deviation of n normal values, times sqrt(n).
constexpr double kErrorOverDeviation = 1.4826022 * 1.2533141;

// By how much the medians of consecutive parts leave the median of their run open. Deviations are
// taken absolute: a phase of a few slow samples does not move the median either.
double parts_error(std::span<const double> samples) {
  std::vector<double> logs;
  for (std::size_t part = 0; part < kParts; ++part) {
    const std::size_t first = samples.size() * part / kParts;
    const std::size_t last = samples.size() * (part + 1) / kParts;
    logs.push_back(std::log(median(samples.subspan(first, last - first))));
  }
  const double center = median(logs);
  for (double& value : logs) value = std::abs(value - center);
  return kErrorOverDeviation * median(logs) / std::sqrt(static_cast<double>(kParts));
}

}  // namespace

double log_error(const Interval& ci95) {
  return (std::log(ci95.high) - std::log(ci95.low)) / 2.0 / kNormal95;
}

double log_median_error(std::span<const double> samples) {
  const auto [least, most] = std::minmax_element(samples.begin(), samples.end());
  const double error = log_error(median_interval(samples).value_or(Interval{*least, *most}));
  return samples.size() < 4 * kParts ? error : std::max(error, parts_error(samples));
}

}  // namespace nf4bench::statistics
