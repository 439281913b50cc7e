#include "statistics/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <stdexcept>
#include <vector>

namespace nf4bench::statistics {
namespace {

// Probability left outside each end of a 95 % interval.
constexpr double kTail = 0.025;

std::vector<double> checked_copy(std::span<const double> samples) {
  if (samples.empty()) throw std::invalid_argument("statistics of no sample");
  for (const double sample : samples) {
    if (!std::isfinite(sample)) throw std::invalid_argument("statistics of a non-finite sample");
  }
  return {samples.begin(), samples.end()};
}

std::vector<double> sorted_copy(std::span<const double> samples) {
  std::vector<double> sorted = checked_copy(samples);
  std::ranges::sort(sorted);
  return sorted;
}

// Moves the sample of `rank`, counted from 0, to its place in the order. Sorting them all for one
// or two of them would take most of the time in which thousands of reports are read.
double select(std::vector<double>& samples, std::size_t rank) {
  const auto place = samples.begin() + static_cast<std::ptrdiff_t>(rank);
  std::nth_element(samples.begin(), place, samples.end());
  return *place;
}

// The greatest rank k, counted from 1, with P(Binomial(n, 1/2) < k) <= 2.5 %; 0 when there is none.
// The order statistics k and n + 1 - k then hold the median between them in 95 % of all cases or
// more, whatever the distribution. Exact: the probabilities are summed in logarithms, so that
// 2^-n does not underflow.
std::size_t lower_rank(std::size_t n) {
  double log_term = -static_cast<double>(n) * std::log(2.0);  // P(exactly j), j = 0
  double cumulative = 0.0;
  for (std::size_t j = 0; j <= n; ++j) {
    cumulative += std::exp(log_term);
    if (cumulative > kTail) return j;
    log_term += std::log(static_cast<double>(n - j)) - std::log(static_cast<double>(j + 1));
  }
  return 0;
}

std::optional<Interval> median_interval_sorted(std::span<const double> sorted) {
  const std::size_t rank = lower_rank(sorted.size());
  if (rank == 0) return std::nullopt;
  return Interval{sorted[rank - 1], sorted[sorted.size() - rank]};
}

double median_absolute_deviation(std::span<const double> samples, double center) {
  std::vector<double> deviations;
  deviations.reserve(samples.size());
  for (const double sample : samples) deviations.push_back(std::abs(sample - center));
  std::ranges::sort(deviations);
  return quantile_sorted(deviations, 0.5);
}

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

double quantile_sorted(std::span<const double> sorted, double q) {
  if (sorted.empty()) throw std::invalid_argument("quantile of no sample");
  if (!(q >= 0.0 && q <= 1.0)) throw std::invalid_argument("quantile outside [0, 1]");
  const double position = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (position - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

double median(std::span<const double> samples) {
  std::vector<double> copy = checked_copy(samples);
  const std::size_t half = copy.size() / 2;
  const double above = select(copy, half);
  if (copy.size() % 2 == 1) return above;
  const double below =
      *std::max_element(copy.begin(), copy.begin() + static_cast<std::ptrdiff_t>(half));
  return below + 0.5 * (above - below);
}

std::optional<Interval> median_interval(std::span<const double> samples) {
  std::vector<double> copy = checked_copy(samples);
  const std::size_t rank = lower_rank(copy.size());
  if (rank == 0) return std::nullopt;
  return Interval{select(copy, rank - 1), select(copy, copy.size() - rank)};
}

Summary summarize(std::span<const double> samples) {
  const std::vector<double> sorted = sorted_copy(samples);
  double sum = 0.0;
  for (const double sample : sorted) sum += sample;
  const double center = quantile_sorted(sorted, 0.5);
  return {.median = center,
          .mean = sum / static_cast<double>(sorted.size()),
          .min = sorted.front(),
          .p05 = quantile_sorted(sorted, 0.05),
          .p95 = quantile_sorted(sorted, 0.95),
          .mad = median_absolute_deviation(sorted, center),
          .ci95 = median_interval_sorted(sorted)};
}

std::optional<double> relative_half_width(const Summary& summary) {
  if (!summary.ci95) return std::nullopt;
  return (summary.ci95->high - summary.ci95->low) / 2.0 / summary.median;
}

PairedRatio paired_ratio(std::span<const double> baseline, std::span<const double> variant) {
  if (baseline.size() != variant.size()) {
    throw std::invalid_argument("paired ratio of series of different lengths");
  }
  std::vector<double> ratios;
  ratios.reserve(baseline.size());
  for (std::size_t round = 0; round < baseline.size(); ++round) {
    ratios.push_back(baseline[round] / variant[round]);
  }
  const std::vector<double> sorted = sorted_copy(ratios);
  return {.ratio = quantile_sorted(sorted, 0.5), .ci95 = median_interval_sorted(sorted)};
}

double geometric_mean(std::span<const double> values) {
  if (values.empty()) throw std::invalid_argument("geometric mean of no value");
  double log_sum = 0.0;
  for (const double value : values) {
    if (!(value > 0.0) || !std::isfinite(value)) {
      throw std::invalid_argument("geometric mean of a value that is not positive and finite");
    }
    log_sum += std::log(value);
  }
  return std::exp(log_sum / static_cast<double>(values.size()));
}

double log_error(const Interval& ci95) {
  return (std::log(ci95.high) - std::log(ci95.low)) / 2.0 / kNormal95;
}

double log_median_error(std::span<const double> samples) {
  const auto [least, most] = std::ranges::minmax_element(samples);
  const double error = log_error(median_interval(samples).value_or(Interval{*least, *most}));
  return samples.size() < 4 * kParts ? error : std::max(error, parts_error(samples));
}

namespace {

// P(T > t) for t >= 0. For whole degrees of freedom the integral is a finite sum of powers of
// cos^2 of the angle atan(t / sqrt(freedom)).
double student_tail(double t, int freedom) {
  const double angle = std::atan(t / std::sqrt(static_cast<double>(freedom)));
  const double cosine_squared = std::cos(angle) * std::cos(angle);
  double sum = 0.0;
  double term = freedom % 2 == 0 ? std::sin(angle) : std::sin(angle) * std::cos(angle);
  for (int power = 2 + freedom % 2; power <= freedom; power += 2) {
    sum += term;
    term *= cosine_squared * (power - 1.0) / power;
  }
  const double inside =
      freedom % 2 == 0 ? sum : (angle + sum) * 2.0 / std::numbers::pi;  // P(|T| < t)
  return (1.0 - inside) / 2.0;
}

// P(X > x), again a finite sum for whole degrees of freedom.
double chi_squared_tail(double x, int freedom) {
  const double half = x / 2.0;
  const bool is_even = freedom % 2 == 0;
  double tail = is_even ? 0.0 : std::erfc(std::sqrt(half));
  double term =
      is_even ? std::exp(-half) : std::exp(-half) * 2.0 * std::sqrt(half / std::numbers::pi);
  for (int power = is_even ? 2 : 3; power <= freedom; power += 2) {
    tail += term;
    term *= x / power;
  }
  return tail;
}

// The x >= 0 at which the falling function `tail` has the value `wanted`.
template <typename Tail>
double solve_tail(Tail tail, double wanted) {
  double low = 0.0;
  double high = 1.0;
  while (tail(high) > wanted && high < 1e300) high *= 2.0;
  for (int step = 0; step < 200; ++step) {
    const double middle = low + (high - low) / 2.0;
    (tail(middle) > wanted ? low : high) = middle;
  }
  return high;
}

// The quantile of a distribution that is symmetric about zero.
template <typename Tail>
double symmetric_quantile(double probability, Tail tail) {
  if (probability < 0.5) return -solve_tail(tail, probability);
  return solve_tail(tail, 1.0 - probability);
}

}  // namespace

double normal_quantile(double probability) {
  return symmetric_quantile(probability,
                            [](double x) { return std::erfc(x / std::numbers::sqrt2) / 2.0; });
}

double student_quantile(double probability, int freedom) {
  return symmetric_quantile(probability, [&](double t) { return student_tail(t, freedom); });
}

double chi_squared_quantile(double probability, int freedom) {
  return solve_tail([&](double x) { return chi_squared_tail(x, freedom); }, 1.0 - probability);
}

// Summed in logarithms, so that 2^-count does not underflow.
double sign_test(std::size_t ups, std::size_t count) {
  const auto n = static_cast<double>(count);
  double log_term = -n * std::log(2.0);  // of exactly j heads, j = 0
  double tail = 0.0;
  for (std::size_t j = 0; j <= count; ++j) {
    if (j >= ups) tail += std::exp(log_term);
    log_term += std::log(n - static_cast<double>(j)) - std::log(static_cast<double>(j) + 1.0);
  }
  return tail;
}

}  // namespace nf4bench::statistics
