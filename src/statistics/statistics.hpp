#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace nf4bench::statistics {
struct Interval {
  double low = 0.0;
  double high = 0.0;
};

// What is said of a set of samples. Seconds, or whatever unit the samples have.
struct Summary {
  double median = 0.0;
  double mean = 0.0;
  double min = 0.0;
  double p05 = 0.0;
  double p95 = 0.0;
  double mad = 0.0;                // median absolute deviation, unscaled
  std::optional<Interval> ci95{};  // of the median; see median_interval()
};

// Quantile `q` in [0, 1] of `sorted` by linear interpolation (Hyndman-Fan type 7).
double quantile_sorted(std::span<const double> sorted, double q);

double median(std::span<const double> samples);

// Fewer samples have no 95 % interval of their median: even their range holds it in 93.75 % of all
// cases only, or less.
inline constexpr std::size_t kFewestForInterval = 6;

// Distribution-free 95 % interval of the median from binomial order statistics; none with fewer
// than kFewestForInterval samples.
std::optional<Interval> median_interval(std::span<const double> samples);

// All of the above. Throws std::invalid_argument when there is no sample or one is not finite.
Summary summarize(std::span<const double> samples);

// Half of ci95's width over the median: how precisely the median is known. None without an
// interval.
std::optional<double> relative_half_width(const Summary& summary);

// The ratio baseline / variant of two interleaved series, its median and 95 % interval taken over
// the ratios of samples of the same round. Both spans have the same length, at least one.
struct PairedRatio {
  double ratio = 0.0;
  std::optional<Interval> ci95{};  // none with fewer than kFewestForInterval rounds
};
PairedRatio paired_ratio(std::span<const double> baseline, std::span<const double> variant);

double geometric_mean(std::span<const double> values);

// The standard error of the logarithm of a value whose 95 % interval (positive ends) this is.
double log_error(const Interval& ci95);

// The standard error of the logarithm of the median of `samples` (positive, in the order taken):
// the greater of what their order statistics (of fewer than six their range) and, from 32 samples
// on, what the medians of eight consecutive parts say. The latter sees clocks that drift.
double log_median_error(std::span<const double> samples);

// Quantiles of the distributions that a verdict rests on; `probability` lies in (0, 1).
double normal_quantile(double probability);

// Student's t with `freedom` degrees of freedom, at least 1.
double student_quantile(double probability, int freedom);

// Chi squared with `freedom` degrees of freedom, at least 1.
double chi_squared_quantile(double probability, int freedom);

// The chance that at least `ups` of `count` fair coins show heads: how likely it is that a thing
// lies above the median in so many of `count` cases and is like the others all the same.
double sign_test(std::size_t ups, std::size_t count);

}  // namespace nf4bench::statistics
