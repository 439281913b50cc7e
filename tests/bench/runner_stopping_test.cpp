#include "bench/fake_run.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace nf4bench {
namespace {

TEST(Runner, StopsWhenTheMedianIsPreciseEnough) {
  FakeRun bench;
  std::mt19937_64 random(5);
  std::normal_distribution<double> noise(1.0, 0.01);
  const auto noisy = [&](const FakeCall&) { return 2e-4 * noise(random); };
  bench.device.script("slow").seconds = noisy;
  bench.device.script("fast").seconds = noisy;
  bench.options.max_time_s = 10.0;
  bench.options.precision = 0.002;
  bench.run();
  for (const record::Measurement& row : bench.rows) {
    EXPECT_EQ(row.stopped_by, record::StopReason::kPrecision);
    EXPECT_LE(statistics::relative_half_width(*row.time_s), 0.002);
    // The median of n normal samples has a standard error of 1.25 sigma / sqrt(n): 0.2 % at 95 %
    // takes about 150.
    EXPECT_GT(row.samples_s.size(), 60u);
    EXPECT_LT(row.samples_s.size(), 600u);
  }
}

// After 64 samples it looks at 72, 81, 91: each time an eighth later. Times alternate up to some
// sample and agree from then on, so that the median becomes precise somewhere between two looks.
TEST(Runner, LooksForPrecisionAfterEverLongerStretches) {
  std::set<std::size_t> looks;
  for (std::size_t n = 64; n < 1000; n += n / 8) looks.insert(n);
  for (std::int64_t agree_from = 340; agree_from < 420; agree_from += 10) {
    FakeRun bench({"slow"});
    bench.device.script("slow").seconds = [agree_from](const FakeCall& call) {
      return 2e-4 * (call.nth < agree_from && call.nth % 2 == 0 ? 1.1 : 1.0);
    };
    bench.options.max_time_s = 10.0;
    bench.options.min_samples = 64;
    bench.run();
    const std::size_t samples = bench.row("slow").samples_s.size();
    EXPECT_GT(samples, 64u) << agree_from;
    EXPECT_TRUE(looks.contains(samples)) << samples << " from " << agree_from;
  }
}

TEST(Runner, TakesAtLeastTheWantedSamples) {
  FakeRun bench;
  bench.options.min_samples = 47;
  bench.run();
  for (const record::Measurement& row : bench.rows) EXPECT_EQ(row.samples_s.size(), 47u);
}

TEST(Runner, NeedsSixSamplesToCallAMedianPrecise) {
  FakeRun bench;
  bench.options.min_samples = 1;
  bench.run();
  for (const record::Measurement& row : bench.rows) EXPECT_EQ(row.samples_s.size(), 6u);
}

TEST(Runner, StopsAtTheTimeLimitOfAllContendersTogether) {
  FakeRun bench;
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> noise(1.0, 3.0);
  bench.device.take_seconds("slow", 1e-3);
  bench.device.script("fast").seconds = [&](const FakeCall&) { return 1e-3 * noise(random); };
  bench.options.max_time_s = 0.5;
  bench.options.precision = 1e-4;
  bench.run();
  const record::Measurement slow = bench.row("slow");
  const record::Measurement fast = bench.row("fast");
  EXPECT_EQ(slow.stopped_by, record::StopReason::kPrecision);
  EXPECT_EQ(fast.stopped_by, record::StopReason::kTimeLimit);
  EXPECT_EQ(slow.samples_s.size(), fast.samples_s.size());  // the steady one keeps its partner
  // Two contenders share 1 s; a round takes 3 ms on average.
  EXPECT_NEAR(static_cast<double>(slow.samples_s.size()), 1.0 / 3e-3, 30.0);
}

TEST(Runner, TakesThreeSamplesHoweverShortTheTime) {
  FakeRun bench;
  bench.device.take_seconds("slow", 5.0);
  bench.device.take_seconds("fast", 4.0);
  bench.options.max_time_s = 0.01;
  bench.run();
  for (const record::Measurement& row : bench.rows) {
    EXPECT_EQ(row.status, record::Status::kPassed);
    EXPECT_EQ(row.samples_s.size(), 3u);
    EXPECT_EQ(row.stopped_by, record::StopReason::kTimeLimit);
  }
  EXPECT_DOUBLE_EQ(bench.row("fast").speedup->ratio, 1.25);
}

}  // namespace
}  // namespace nf4bench
