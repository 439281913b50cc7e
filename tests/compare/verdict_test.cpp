#include "compare/verdict.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace nf4bench {
namespace {

using testing::HasSubstr;

compare::RunValue run_of(double time_s, double clock_hz = 1.98e9) {
  return {.log_cost = std::log(time_s),
          .log_error = 0.0,
          .time_s = time_s,
          .resolution_s = 0.5e-6 / 10.0,
          .clock_hz = clock_hz,
          .samples = 41};
}

compare::Ruling rule(const std::vector<compare::RunValue>& base,
                     const std::vector<compare::RunValue>& fresh,
                     const compare::RulingLimits& limits = {},
                     const compare::ChangeModel& model = {}) {
  return compare::rule_on_change(compare::estimate_change(base, fresh, model), base, fresh, limits);
}

TEST(Verdict, EqualTimesAreTheSame) {
  EXPECT_EQ(rule({run_of(30e-6)}, {run_of(30e-6)}).verdict, compare::CellVerdict::kSame);
}

TEST(Verdict, FivePercentMoreIsSlower) {
  EXPECT_EQ(rule({run_of(30e-6)}, {run_of(31.5e-6)}).verdict, compare::CellVerdict::kSlower);
}

TEST(Verdict, FivePercentLessIsFaster) {
  EXPECT_EQ(rule({run_of(30e-6)}, {run_of(28.5e-6)}).verdict, compare::CellVerdict::kFaster);
}

TEST(Verdict, SignificantButBelowTheThresholdIsTheSame) {
  const std::vector<compare::RunValue> base(20, run_of(30e-6));
  const std::vector<compare::RunValue> fresh(20, run_of(30e-6 * 1.015));
  const compare::Change change = compare::estimate_change(base, fresh, {});
  ASSERT_GT(change.log_ratio, change.half_width);
  EXPECT_EQ(rule(base, fresh).verdict, compare::CellVerdict::kSame);
}

TEST(Verdict, BeyondTheThresholdButWithinNoiseIsUnsure) {
  const compare::Ruling ruling =
      rule({run_of(30e-6)}, {run_of(30e-6 * 1.05)}, {}, {.run_noise = 0.02});
  EXPECT_EQ(ruling.verdict, compare::CellVerdict::kUnsure);
  EXPECT_THAT(ruling.reason, HasSubstr("within the noise"));
}

// No change was seen, but the data could not have shown one.
TEST(Verdict, EqualTimesInMuchNoiseAreUnsure) {
  const compare::Ruling ruling = rule({run_of(30e-6)}, {run_of(30e-6)}, {}, {.run_noise = 0.02});
  EXPECT_EQ(ruling.verdict, compare::CellVerdict::kUnsure);
  EXPECT_THAT(ruling.reason, HasSubstr("hides"));
}

TEST(Verdict, AMedianThatItsSamplesLeaveOpenIsUnsure) {
  compare::RunValue loose = run_of(30e-6 * 1.05);
  loose.log_error = 0.03;
  EXPECT_EQ(rule({run_of(30e-6)}, {loose}).verdict, compare::CellVerdict::kUnsure);
}

TEST(Verdict, ADifferenceBelowTheTimerResolutionIsTheSame) {
  compare::RunValue base = run_of(2.0e-6);
  compare::RunValue fresh = run_of(2.2e-6);  // 10 % slower
  EXPECT_EQ(rule({base}, {fresh}).verdict, compare::CellVerdict::kSlower);
  base.resolution_s = fresh.resolution_s = 0.5e-6;  // one launch per sample
  const compare::Ruling ruling = rule({base}, {fresh});
  EXPECT_EQ(ruling.verdict, compare::CellVerdict::kSame);
  EXPECT_THAT(ruling.reason, HasSubstr("timer"));
}

// An accidental zero between wild values is no agreement.
TEST(Verdict, AnUnresolvedDifferenceInMuchNoiseIsUnsure) {
  EXPECT_EQ(rule({run_of(30e-6)}, {run_of(30.01e-6)}, {}, {.run_noise = 0.2}).verdict,
            compare::CellVerdict::kUnsure);
}

TEST(Verdict, ASlowdownThatTheClockExplainsIsUnsure) {
  const compare::Ruling ruling = rule({run_of(30e-6, 1.98e9)}, {run_of(31.5e-6, 1.885e9)});
  EXPECT_EQ(ruling.verdict, compare::CellVerdict::kUnsure);
  EXPECT_THAT(ruling.reason, HasSubstr("clock"));
}

TEST(Verdict, ASpeedupThatTheClockExplainsIsUnsure) {
  EXPECT_EQ(rule({run_of(31.5e-6, 1.885e9)}, {run_of(30e-6, 1.98e9)}).verdict,
            compare::CellVerdict::kUnsure);
}

TEST(Verdict, ASlowdownBeyondWhatTheClockExplainsIsSlower) {
  EXPECT_EQ(rule({run_of(30e-6, 1.98e9)}, {run_of(36e-6, 1.885e9)}).verdict,
            compare::CellVerdict::kSlower);
}

TEST(Verdict, ASlowdownAtAFasterClockIsSlower) {
  EXPECT_EQ(rule({run_of(30e-6, 1.885e9)}, {run_of(31.5e-6, 1.98e9)}).verdict,
            compare::CellVerdict::kSlower);
}

// Memory-bound kernels take the same time at any SM clock.
TEST(Verdict, EqualTimesAtDifferentClocksAreTheSame) {
  EXPECT_EQ(rule({run_of(30e-6, 1.98e9)}, {run_of(30e-6, 1.885e9)}).verdict,
            compare::CellVerdict::kSame);
}

TEST(Verdict, AnUnknownClockExplainsNothing) {
  compare::RunValue fresh = run_of(31.5e-6);
  fresh.clock_hz.reset();
  EXPECT_EQ(rule({run_of(30e-6)}, {fresh}).verdict, compare::CellVerdict::kSlower);
}

TEST(Verdict, ClocksDoNotExplainRatiosWithinARun) {
  EXPECT_EQ(
      rule({run_of(30e-6, 1.98e9)}, {run_of(31.5e-6, 1.885e9)}, {.heeds_clocks = false}).verdict,
      compare::CellVerdict::kSlower);
}

TEST(Verdict, OneOddRunOfThreeIsUnsureNotSlower) {
  const std::vector<compare::RunValue> base(3, run_of(30e-6));
  const std::vector<compare::RunValue> fresh = {run_of(30e-6), run_of(36e-6), run_of(30e-6)};
  const compare::Ruling ruling = rule(base, fresh);
  EXPECT_EQ(ruling.verdict, compare::CellVerdict::kUnsure);
  EXPECT_THAT(ruling.reason, HasSubstr("scatter between runs"));
}

TEST(Verdict, AConfirmedSlowdownStaysSlower) {
  EXPECT_EQ(rule({run_of(30e-6)}, {run_of(31.6e-6), run_of(31.4e-6)}).verdict,
            compare::CellVerdict::kSlower);
}

TEST(Verdict, ARefutedSlowdownIsNotSlower) {
  EXPECT_EQ(rule({run_of(30e-6)}, {run_of(32e-6), run_of(30e-6)}).verdict,
            compare::CellVerdict::kUnsure);
}

TEST(Verdict, TheThresholdIsTheCallers) {
  const std::vector<compare::RunValue> base(20, run_of(30e-6));
  const std::vector<compare::RunValue> fresh(20, run_of(30e-6 * 1.015));
  EXPECT_EQ(rule(base, fresh, {.threshold = 0.01}).verdict, compare::CellVerdict::kSlower);
  EXPECT_EQ(rule({run_of(30e-6)}, {run_of(33e-6)}, {.threshold = 0.2}).verdict,
            compare::CellVerdict::kSame);
}

TEST(Change, MoreCellsWantWiderIntervals) {
  const std::vector<compare::RunValue> base = {run_of(30e-6)};
  const std::vector<compare::RunValue> fresh = {run_of(31e-6)};
  const double alone =
      compare::estimate_change(base, fresh, {.run_noise = 0.005, .cells = 1}).half_width;
  const double of_many =
      compare::estimate_change(base, fresh, {.run_noise = 0.005, .cells = 66}).half_width;
  // sqrt(2) x 0.5 % x the normal quantiles of 99.5 % and of 1 - 0.005 / 66.
  EXPECT_NEAR(alone, 0.0182139, 1e-6);
  EXPECT_NEAR(of_many, 0.0267893, 1e-6);
}

TEST(Change, RunsNotSamplesMakeIntervalsNarrow) {
  compare::RunValue many_samples = run_of(30e-6);
  many_samples.samples = 1000000;
  const compare::Change one =
      compare::estimate_change(std::vector{many_samples}, std::vector{many_samples}, {});
  const std::vector<compare::RunValue> four(4, run_of(30e-6));
  EXPECT_NEAR(compare::estimate_change(four, four, {}).half_width, one.half_width / 2.0, 1e-9);
}

TEST(Change, ScatterBeyondTheStatedNoiseWidensTheInterval) {
  const std::vector<compare::RunValue> steady(2, run_of(30e-6));
  const std::vector<compare::RunValue> wild = {run_of(29e-6), run_of(31e-6)};
  const compare::Change change = compare::estimate_change(steady, wild, {});
  EXPECT_FALSE(change.runs_agree);
  EXPECT_GT(change.half_width, 2.0 * compare::estimate_change(steady, steady, {}).half_width);
}

}  // namespace
}  // namespace nf4bench
