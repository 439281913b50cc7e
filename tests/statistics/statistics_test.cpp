#include "statistics/statistics.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <stdexcept>
#include <vector>

namespace nf4bench {
namespace {

std::vector<double> one_to(std::size_t n) {
  std::vector<double> values(n);
  std::iota(values.begin(), values.end(), 1.0);
  return values;
}

// Share of `trials` samples of size `n` whose median interval holds `true_median`.
double coverage(std::size_t n, double true_median,
                const std::function<double(std::mt19937_64&)>& draw) {
  constexpr int kTrials = 20000;
  std::mt19937_64 random(n * 1000003u);
  std::vector<double> samples(n);
  int covered = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    for (double& sample : samples) sample = draw(random);
    const statistics::Interval interval = statistics::median_interval(samples).value();
    if (interval.low <= true_median && true_median <= interval.high) ++covered;
  }
  return static_cast<double>(covered) / kTrials;
}

// Worked out by hand from the definition of Hyndman-Fan type 7 (h = (n - 1) q), which R and NumPy
// use by default.
TEST(Quantile, FollowsType7) {
  const std::vector<double> values = {1.0, 2.0, 4.0, 8.0, 16.0};
  EXPECT_DOUBLE_EQ(statistics::quantile_sorted(values, 0.0), 1.0);
  EXPECT_DOUBLE_EQ(statistics::quantile_sorted(values, 0.05), 1.2);   // h = 0.2
  EXPECT_DOUBLE_EQ(statistics::quantile_sorted(values, 0.25), 2.0);   // h = 1
  EXPECT_DOUBLE_EQ(statistics::quantile_sorted(values, 0.4), 3.2);    // h = 1.6
  EXPECT_DOUBLE_EQ(statistics::quantile_sorted(values, 0.95), 14.4);  // h = 3.8
  EXPECT_DOUBLE_EQ(statistics::quantile_sorted(values, 1.0), 16.0);
  const std::vector<double> ten = one_to(10);
  EXPECT_DOUBLE_EQ(statistics::quantile_sorted(ten, 0.33), 3.97);  // h = 2.97
}

TEST(Quantile, OfOneSampleIsThatSample) {
  const std::vector<double> one = {3.5};
  EXPECT_EQ(statistics::quantile_sorted(one, 0.0), 3.5);
  EXPECT_EQ(statistics::quantile_sorted(one, 0.37), 3.5);
  EXPECT_EQ(statistics::quantile_sorted(one, 1.0), 3.5);
}

TEST(Quantile, RefusesWhatHasNone) {
  const std::vector<double> one = {1.0};
  EXPECT_THROW(statistics::quantile_sorted({}, 0.5), std::invalid_argument);
  EXPECT_THROW(statistics::quantile_sorted(one, -0.01), std::invalid_argument);
  EXPECT_THROW(statistics::quantile_sorted(one, 1.01), std::invalid_argument);
  EXPECT_THROW(statistics::quantile_sorted(one, std::nan("")), std::invalid_argument);
}

TEST(Median, OfEvenAndOddCounts) {
  EXPECT_DOUBLE_EQ(statistics::median(std::vector<double>{5.0, 1.0, 3.0}), 3.0);
  EXPECT_DOUBLE_EQ(statistics::median(std::vector<double>{5.0, 1.0, 3.0, 4.0}), 3.5);
}

// Ranks from integer arithmetic on binomial coefficients; the small ones stand in every table of
// confidence limits for the median.
TEST(MedianInterval, TakesTheRanksOfTheBinomialTable) {
  struct Row {
    std::size_t n, low, high;
  };
  for (const Row row : {Row{6, 1, 6}, Row{7, 1, 7}, Row{8, 1, 8}, Row{9, 2, 8}, Row{10, 2, 9},
                        Row{12, 3, 10}, Row{20, 6, 15}, Row{30, 10, 21}, Row{50, 18, 33},
                        Row{100, 40, 61}, Row{1000, 469, 532}, Row{20000, 9861, 10140}}) {
    const statistics::Interval interval = statistics::median_interval(one_to(row.n)).value();
    EXPECT_EQ(interval.low, static_cast<double>(row.low)) << row.n;
    EXPECT_EQ(interval.high, static_cast<double>(row.high)) << row.n;
  }
}

// Even the range of five samples misses the median in 2 of 32 cases.
TEST(MedianInterval, IsNoneBelowSixSamples) {
  for (std::size_t n = 1; n < 6; ++n) {
    EXPECT_FALSE(statistics::median_interval(one_to(n))) << n;
    const statistics::Summary summary = statistics::summarize(one_to(n));
    EXPECT_FALSE(summary.ci95) << n;
    EXPECT_FALSE(statistics::relative_half_width(summary)) << n;
    EXPECT_FALSE(statistics::paired_ratio(one_to(n), one_to(n)).ci95) << n;
  }
}

// The true coverage is that of the binomial ranks, whatever the distribution: never below 95 %.
TEST(MedianInterval, CoversTheMedianOfAnyNoise) {
  struct Noise {
    const char* name;
    double median;
    std::function<double(std::mt19937_64&)> draw;
  };
  std::normal_distribution<double> normal(10.0, 2.0);
  std::lognormal_distribution<double> lognormal(0.0, 1.0);
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  // Two clock states: 60 % of samples in [1, 1.1), 40 % in [2, 2.1). The median is where 5/6 of the
  // lower mode lies below.
  const auto bimodal = [&](std::mt19937_64& random) {
    const double mode = uniform(random) < 0.6 ? 1.0 : 2.0;
    return mode + 0.1 * uniform(random);
  };
  const std::vector<Noise> noises = {
      {"normal", 10.0, [&](auto& random) { return normal(random); }},
      {"log-normal", 1.0, [&](auto& random) { return lognormal(random); }},
      {"bimodal", 1.0 + 0.1 * 5.0 / 6.0, bimodal},
  };
  struct Expected {
    std::size_t n;
    double coverage;
  };
  for (const Noise& noise : noises) {
    for (const Expected expected : {Expected{6, 0.96875}, Expected{10, 0.978516},
                                    Expected{30, 0.957226}, Expected{100, 0.964800}}) {
      const double found = coverage(expected.n, noise.median, noise.draw);
      EXPECT_GE(found, 0.945) << noise.name << " n=" << expected.n;
      EXPECT_NEAR(found, expected.coverage, 0.006) << noise.name << " n=" << expected.n;
    }
  }
}

TEST(Summary, AgreesWithValuesComputedByHand) {
  const std::vector<double> samples = {9.0, 1.0, 4.0, 2.0, 7.0, 3.0, 100.0};
  const statistics::Summary summary = statistics::summarize(samples);
  EXPECT_DOUBLE_EQ(summary.median, 4.0);
  EXPECT_DOUBLE_EQ(summary.mean, 18.0);
  EXPECT_DOUBLE_EQ(summary.min, 1.0);
  EXPECT_DOUBLE_EQ(summary.p05, 1.3);     // h = 0.3 between 1 and 2
  EXPECT_NEAR(summary.p95, 72.7, 1e-12);  // h = 5.7 between 9 and 100
  EXPECT_DOUBLE_EQ(summary.mad, 3.0);     // deviations 5 3 0 2 3 1 96
  EXPECT_EQ(summary.ci95.value().low, 1.0);
  EXPECT_EQ(summary.ci95.value().high, 100.0);
}

TEST(Summary, OfConstantSamplesHasNoSpread) {
  const statistics::Summary summary = statistics::summarize(std::vector<double>(50, 2.5e-6));
  EXPECT_EQ(summary.median, 2.5e-6);
  EXPECT_EQ(summary.mad, 0.0);
  EXPECT_EQ(statistics::relative_half_width(summary), 0.0);
}

TEST(Summary, RefusesNoSampleAndNonFiniteOnes) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_THROW(statistics::summarize({}), std::invalid_argument);
  EXPECT_THROW(statistics::summarize(std::vector<double>{1.0, std::nan("")}),
               std::invalid_argument);
  EXPECT_THROW(statistics::summarize(std::vector<double>{infinity, 1.0}), std::invalid_argument);
}

TEST(RelativeHalfWidth, IsHalfTheIntervalOverTheMedian) {
  statistics::Summary summary;
  summary.median = 10.0;
  summary.ci95 = statistics::Interval{9.0, 12.0};
  EXPECT_DOUBLE_EQ(statistics::relative_half_width(summary).value(), 0.15);
}

TEST(PairedRatio, IsTheMedianOfRatiosOfTheSameRound) {
  // Ratios 2, 3, 0.5, 4, 1, 2, 2: their median is 2, while the ratio of the medians is 1.
  const std::vector<double> baseline = {2.0, 3.0, 1.0, 8.0, 2.0, 2.0, 4.0};
  const std::vector<double> variant = {1.0, 1.0, 2.0, 2.0, 2.0, 1.0, 2.0};
  const statistics::PairedRatio paired = statistics::paired_ratio(baseline, variant);
  EXPECT_DOUBLE_EQ(paired.ratio, 2.0);
  EXPECT_DOUBLE_EQ(paired.ci95.value().low, 0.5);
  EXPECT_DOUBLE_EQ(paired.ci95.value().high, 4.0);
}

TEST(PairedRatio, IsExactUnderADriftThatBothShare) {
  std::vector<double> baseline;
  std::vector<double> variant;
  for (int round = 0; round < 40; ++round) {
    const double clock = 1.0 + 0.05 * round;
    baseline.push_back(3.0 * clock);
    variant.push_back(2.0 * clock);
  }
  const statistics::PairedRatio paired = statistics::paired_ratio(baseline, variant);
  EXPECT_DOUBLE_EQ(paired.ratio, 1.5);
  EXPECT_NEAR(paired.ci95.value().low, 1.5, 1e-12);
  EXPECT_NEAR(paired.ci95.value().high, 1.5, 1e-12);
}

TEST(PairedRatio, CoversTheTrueRatioUnderNoiseAndDrift) {
  constexpr int kTrials = 10000;
  constexpr int kRounds = 30;
  std::mt19937_64 random(7);
  std::lognormal_distribution<double> noise(0.0, 0.02);
  std::vector<double> baseline(kRounds);
  std::vector<double> variant(kRounds);
  int covered = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    for (int round = 0; round < kRounds; ++round) {
      const double clock = 1.0 + 0.01 * round;
      baseline[static_cast<std::size_t>(round)] = 1.5 * clock * noise(random);
      variant[static_cast<std::size_t>(round)] = clock * noise(random);
    }
    const statistics::PairedRatio paired = statistics::paired_ratio(baseline, variant);
    if (paired.ci95->low <= 1.5 && 1.5 <= paired.ci95->high) ++covered;
  }
  EXPECT_NEAR(covered / static_cast<double>(kTrials), 0.957226, 0.008);
}

TEST(PairedRatio, RefusesSeriesThatDoNotPair) {
  EXPECT_THROW(statistics::paired_ratio(std::vector<double>{1.0, 2.0}, std::vector<double>{1.0}),
               std::invalid_argument);
  EXPECT_THROW(statistics::paired_ratio({}, {}), std::invalid_argument);
  EXPECT_THROW(statistics::paired_ratio(std::vector<double>{1.0}, std::vector<double>{0.0}),
               std::invalid_argument);
}

TEST(GeometricMean, MultipliesAndTakesTheRoot) {
  EXPECT_NEAR(statistics::geometric_mean(std::vector<double>{1.0, 2.0, 4.0}), 2.0, 1e-15);
  EXPECT_NEAR(statistics::geometric_mean(std::vector<double>{1e-200, 1e200, 1.0}), 1.0, 1e-12);
}

TEST(GeometricMean, RefusesWhatIsNotPositive) {
  EXPECT_THROW(statistics::geometric_mean({}), std::invalid_argument);
  EXPECT_THROW(statistics::geometric_mean(std::vector<double>{1.0, 0.0}), std::invalid_argument);
  EXPECT_THROW(statistics::geometric_mean(std::vector<double>{1.0, -2.0}), std::invalid_argument);
}

}  // namespace
}  // namespace nf4bench
