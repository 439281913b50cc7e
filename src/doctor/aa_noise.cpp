#include "doctor/aa_noise.hpp"

#include "statistics/distributions.hpp"

#include <cmath>

namespace nf4bench::doctor {
namespace {

constexpr double kSure = 0.995;  // one-sided

struct Moments {
  double mean = 0.0;
  double variance = 0.0;  // of the population that `values` are drawn from
};

Moments moments(const std::vector<double>& values) {
  const auto count = static_cast<double>(values.size());
  Moments result;
  for (const double value : values) result.mean += value / count;
  for (const double value : values) {
    result.variance += (value - result.mean) * (value - result.mean) / (count - 1.0);
  }
  return result;
}

}  // namespace

AaNoise aa_noise(const std::vector<AaPair>& runs, const compare::RunNoise& assumed) {
  std::vector<double> first;
  std::vector<double> second;
  std::vector<double> change;
  for (const AaPair& run : runs) {
    first.push_back(std::log(run.first_s));
    second.push_back(std::log(run.second_s));
    change.push_back(second.back() - first.back());
  }
  AaNoise noise;
  noise.relative = std::sqrt((moments(first).variance + moments(second).variance) / 2.0);
  noise.assumed = assumed.relative;
  noise.threshold = compare::kThresholdInNoise * assumed.relative;
  // The difference of two runs has a standard deviation of sqrt(2) times that of one.
  noise.false_alarms = std::erfc(std::log1p(noise.threshold) / (2.0 * noise.relative));
  const Moments sides = moments(change);
  const auto count = static_cast<double>(runs.size());
  const double half_width = statistics::student_quantile(kSure, static_cast<int>(runs.size()) - 1) *
                            std::sqrt(sides.variance / count);
  noise.side_change = std::expm1(sides.mean);
  noise.sides_differ = std::abs(sides.mean) > assumed.relative && std::abs(sides.mean) > half_width;
  return noise;
}

}  // namespace nf4bench::doctor
