// What runs of a variant against itself say of the machine.

#include "doctor/checks/checks.hpp"
#include "doctor/diagnosis.hpp"
#include "doctor/machines.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace nf4bench {
namespace {

using doctor::Severity;
using test::expect_finding;
using testing::_;
using testing::HasSubstr;

// Standard deviations and the share of false alarms from Python's statistics module.
const std::vector<doctor::AaPair> kFiveRuns = {
    {100e-6, 100.5e-6}, {101e-6, 100e-6}, {99e-6, 99.5e-6}, {102e-6, 101e-6}, {98e-6, 98.5e-6}};
constexpr double kFiveRunsScatter = 0.013097281778924209;

compare::RunNoise assumed_on(record::DeviceKind kind) {
  return compare::measured_noise(kind, compare::Spread::kOneDevice);
}

// Runs that scatter by `relative`, both sides apart.
std::vector<doctor::AaPair> scattered(double relative, int runs, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal(0.0, relative);
  std::vector<doctor::AaPair> pairs;
  for (int i = 0; i < runs; ++i) {
    const double first = 1e-4 * std::exp(normal(random));
    pairs.push_back({first, 1e-4 * std::exp(normal(random))});
  }
  return pairs;
}

doctor::Finding finding_of(record::DeviceKind kind, const std::vector<doctor::AaPair>& runs) {
  doctor::AaRun aa = test::quiet_aa("fused", 0.0);
  aa.runs = runs;
  return doctor::check_noise(aa, doctor::aa_noise(runs, assumed_on(kind)));
}

TEST(AaNoise, IsTheScatterOfMedians) {
  const doctor::AaNoise noise = doctor::aa_noise(kFiveRuns, assumed_on(record::DeviceKind::kCuda));
  EXPECT_NEAR(noise.relative, kFiveRunsScatter, 1e-12);
  EXPECT_DOUBLE_EQ(noise.assumed, 0.005);
  EXPECT_DOUBLE_EQ(noise.threshold, 0.02);
  EXPECT_NEAR(noise.false_alarms, 0.28501538910032664, 1e-9);
  EXPECT_FALSE(noise.sides_differ);
}

// The same check by simulation: how often two single runs differ by more than the threshold.
TEST(AaNoise, PredictsFalseAlarms) {
  const doctor::AaNoise noise =
      doctor::aa_noise(scattered(0.012, 20000, 1), assumed_on(record::DeviceKind::kCuda));
  EXPECT_NEAR(noise.relative, 0.012, 0.0003);
  int alarms = 0;
  const std::vector<doctor::AaPair> comparisons = scattered(0.012, 20000, 2);
  for (const doctor::AaPair& runs : comparisons) {
    alarms += std::abs(std::log(runs.second_s / runs.first_s)) > std::log1p(0.02) ? 1 : 0;
  }
  EXPECT_NEAR(noise.false_alarms, alarms / 20000.0, 0.01);
}

TEST(AaNoise, OfRunsThatAreAllTheSameIsNone) {
  const doctor::AaNoise noise = doctor::aa_noise({{1e-4, 1e-4}, {1e-4, 1e-4}, {1e-4, 1e-4}},
                                                 assumed_on(record::DeviceKind::kCuda));
  EXPECT_EQ(noise.relative, 0.0);
  EXPECT_EQ(noise.false_alarms, 0.0);
  EXPECT_FALSE(noise.sides_differ);
}

TEST(AaNoise, SeesASideThatIsSlowerInEveryRun) {
  std::vector<doctor::AaPair> runs = scattered(0.0005, 5, 3);
  for (doctor::AaPair& run : runs) run.second_s *= 1.03;
  const doctor::AaNoise noise = doctor::aa_noise(runs, assumed_on(record::DeviceKind::kCuda));
  EXPECT_TRUE(noise.sides_differ);
  EXPECT_NEAR(noise.side_change, 0.03, 0.002);
  expect_finding(finding_of(record::DeviceKind::kCuda, runs), Severity::kWarning,
                 HasSubstr("one side is"));
}

TEST(AaNoise, BelowTheAssumedOneIsFine) {
  const doctor::Finding finding =
      finding_of(record::DeviceKind::kCuda, test::quiet_aa("", 0.0).runs);
  expect_finding(finding, Severity::kOk,
                 HasSubstr("5 runs of fused against itself scatter by 0.1"));
  EXPECT_THAT(finding.found, HasSubstr("(compare assumes 0.5 %)"));
  EXPECT_THAT(finding.found, HasSubstr("threshold of 2 % in under 0.1 % of comparisons"));
  EXPECT_EQ(finding.remedy, "");
}

TEST(AaNoise, OfAGpuIsHeldToAStricterLimitThanThatOfACpu) {
  expect_finding(finding_of(record::DeviceKind::kCuda, kFiveRuns), Severity::kWarning, _,
                 HasSubstr("--noise 1.3%"));
  expect_finding(finding_of(record::DeviceKind::kCpu, kFiveRuns), Severity::kOk);
}

TEST(AaNoise, ThatCrossesTheThresholdAllTheTimeMakesAGateWorthless) {
  std::vector<doctor::AaPair> runs = kFiveRuns;
  runs[1] = {112e-6, 108e-6};
  expect_finding(finding_of(record::DeviceKind::kCuda, runs), Severity::kWorthless);
  // The medians of a CPU that two programs share, in seconds.
  expect_finding(finding_of(record::DeviceKind::kCpu, {{0.019992, 0.019987},
                                                       {0.000430, 0.009720},
                                                       {0.019985, 0.019997},
                                                       {0.019988, 0.019990},
                                                       {0.009629, 0.016041}}),
                 Severity::kWorthless);
}

// Five runs that scatter just as assumed must hardly ever be called noisy.
TEST(AaNoise, HardlyEverAlarmsOnAMachineAsAssumed) {
  int noisy = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    const doctor::Finding finding =
        finding_of(record::DeviceKind::kCuda, scattered(0.005, 5, seed));
    EXPECT_LT(finding.severity, Severity::kWorthless) << seed;
    noisy += finding.severity == Severity::kWarning ? 1 : 0;
  }
  EXPECT_LE(noisy, 40);
}

TEST(AaNoise, ThatCannotBeMeasuredMakesAGateWorthless) {
  doctor::AaRun aa = test::quiet_aa("fused", 0.0);
  aa.failure = "failed: 3 of 16777216 elements differ";
  expect_finding(doctor::check_noise(aa, std::nullopt), Severity::kWorthless,
                 "fused could not be measured: failed: 3 of 16777216 elements differ",
                 "nf4bench run --shape 4096x4096 --variant fused");
}

}  // namespace
}  // namespace nf4bench
