#include "compare/history/history.hpp"
#include "compare/report_maker.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <vector>

namespace nf4bench {
namespace {

using test::RunSimulator;

constexpr compare::StepModel kModel = {.noise = 0.005, .threshold = 0.02};

// `levels` in turn, `count` values each, with normal noise of 0.5 %.
std::vector<double> noisy_levels(RunSimulator& simulator, const std::vector<double>& levels,
                                 int count) {
  std::vector<double> values;
  for (const double level : levels) {
    for (int i = 0; i < count; ++i) values.push_back(level + 0.005 * simulator.normal());
  }
  return values;
}

TEST(Steps, AFlatSeriesHasNone) {
  EXPECT_TRUE(compare::find_steps(std::vector<double>(30, 1.0), kModel).empty());
}

TEST(Steps, AStepIsFoundWhereItIs) {
  std::vector<double> values(10, 0.0);
  values.resize(20, 0.05);
  const std::vector<compare::LevelStep> steps = compare::find_steps(values, kModel);
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0].index, 10u);
  EXPECT_NEAR(steps[0].change, 0.05, 1e-12);
}

TEST(Steps, AStepUpAndBackDownIsTwoSteps) {
  RunSimulator simulator({}, 21);
  const std::vector<compare::LevelStep> steps =
      compare::find_steps(noisy_levels(simulator, {0.0, 0.05, 0.0}, 12), kModel);
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_NEAR(steps[0].change, 0.05, 0.01);
  EXPECT_NEAR(steps[1].change, -0.05, 0.01);
}

TEST(Steps, OneOrTwoWildRunsAreNoStep) {
  std::vector<double> values(20, 0.0);
  values[7] = 0.5;
  values[14] = -0.3;
  values[19] = 0.2;
  EXPECT_TRUE(compare::find_steps(values, kModel).empty());
  values[18] = 0.2;
  EXPECT_TRUE(compare::find_steps(values, kModel).empty());
}

TEST(Steps, ThreeRunsOnANewLevelAreAStep) {
  std::vector<double> values(20, 0.0);
  values[17] = values[18] = values[19] = 0.05;
  const std::vector<compare::LevelStep> steps = compare::find_steps(values, kModel);
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0].index, 17u);
}

TEST(Steps, AWildRunDoesNotHideTheStepBesideIt) {
  std::vector<double> values(10, 0.0);
  values.resize(20, 0.05);
  values[9] = 0.4;
  values[12] = -0.4;
  const std::vector<compare::LevelStep> steps = compare::find_steps(values, kModel);
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_NEAR(steps[0].change, 0.05, 1e-9);
}

TEST(Steps, StepsBelowTheThresholdAreNotTold) {
  std::vector<double> values(30, 0.0);
  values.resize(60, 0.015);
  EXPECT_TRUE(compare::find_steps(values, kModel).empty());
  EXPECT_EQ(compare::find_steps(values, {.noise = 0.001, .threshold = 0.01}).size(), 1u);
}

TEST(Steps, ASeriesTooShortForTwoLevelsHasNone) {
  EXPECT_TRUE(compare::find_steps({}, kModel).empty());
  EXPECT_TRUE(compare::find_steps(std::vector<double>{0.0}, kModel).empty());
  EXPECT_TRUE(compare::find_steps(std::vector<double>{0.0, 0.0, 0.5, 0.5, 0.5}, kModel).empty());
}

// A series whose neighbours differ much has much noise, whatever the model says.
TEST(Steps, NoiseIsEstimatedFromNeighbours) {
  RunSimulator simulator({}, 22);
  std::vector<double> values;
  values.reserve(60);
  for (int i = 0; i < 60; ++i) values.push_back(0.1 * simulator.normal());
  EXPECT_TRUE(compare::find_steps(values, kModel).empty());
}

TEST(Steps, NoiseAloneMakesFewSteps) {
  RunSimulator simulator({}, 23);
  int with_steps = 0;
  constexpr int kSeries = 1000;
  for (int i = 0; i < kSeries; ++i) {
    with_steps += compare::find_steps(noisy_levels(simulator, {0.0}, 50), kModel).empty() ? 0 : 1;
  }
  std::printf("[ FIGURES  ] 50 unchanged runs: %.1f %% of series have a step\n",
              100.0 * with_steps / kSeries);
  EXPECT_LE(with_steps, kSeries / 100);
}

TEST(Steps, FivePercentIsFoundInTheRightPlace) {
  RunSimulator simulator({}, 24);
  int found = 0;
  constexpr int kSeries = 1000;
  for (int i = 0; i < kSeries; ++i) {
    const std::vector<compare::LevelStep> steps =
        compare::find_steps(noisy_levels(simulator, {0.0, 0.05}, 10), kModel);
    found += steps.size() == 1 && steps[0].index == 10 ? 1 : 0;
  }
  std::printf("[ FIGURES  ] a step of 5 %% amid 20 runs: found at the very run in %.1f %%\n",
              100.0 * found / kSeries);
  EXPECT_GE(found, kSeries * 99 / 100);
}

}  // namespace
}  // namespace nf4bench
