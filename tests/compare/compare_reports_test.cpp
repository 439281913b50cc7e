#include "compare/compare_reports.hpp"

#include "compare/gate.hpp"
#include "compare/report_maker.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace nf4bench {
namespace {

using test::named_run;
using test::passed_row;
using testing::ElementsAre;
using testing::HasSubstr;

const compare::ComparedCell& cell_of(const compare::ComparisonResult& result,
                                     const std::string& variant) {
  for (const compare::ComparedCell& cell : result.cells) {
    if (cell.key.variant == variant) return cell;
  }
  throw std::runtime_error("no cell of " + variant);
}

compare::ComparisonResult compare(const report::NamedReport& base, const report::NamedReport& fresh,
                                  const compare::CompareOptions& options = {}) {
  return compare::compare_reports({base}, {fresh}, options);
}

compare::CellVerdict verdict_of(const compare::ComparisonResult& result,
                                const std::string& variant) {
  return cell_of(result, variant).ruling.verdict;
}

ExitCode gate_code(const compare::ComparisonResult& result,
                   compare::Strictness strictness = compare::Strictness::kLenient) {
  return compare::decide_gate(result, strictness).code;
}

// A run of "fused" alone, with the row changed by `change`.
template <class Change>
report::NamedReport changed_run(int minute, Change&& change) {
  report::NamedReport run = named_run("changed", minute, {{"fused", 30e-6}});
  change(run.report.measurements[0]);
  return run;
}

report::NamedReport plain_run(int minute) {
  return named_run("plain", minute, {{"fused", 30e-6}});
}

TEST(CompareReports, CellsGetTheirOwnVerdicts) {
  const compare::ComparisonResult result =
      compare(named_run("a", 0, {{"same", 30e-6}, {"slower", 30e-6}, {"faster", 30e-6}}),
              named_run("b", 1, {{"same", 30e-6}, {"slower", 33e-6}, {"faster", 27e-6}}));
  EXPECT_EQ(verdict_of(result, "same"), compare::CellVerdict::kSame);
  EXPECT_EQ(verdict_of(result, "slower"), compare::CellVerdict::kSlower);
  EXPECT_EQ(verdict_of(result, "faster"), compare::CellVerdict::kFaster);
  EXPECT_EQ(result.measured(), 3);
  EXPECT_NEAR(*result.median_log_change, 0.0, 1e-9);
  EXPECT_NEAR(cell_of(result, "slower").base->value, 30e-6, 1e-12);
  EXPECT_NEAR(cell_of(result, "slower").fresh->value, 33e-6, 1e-12);
}

TEST(CompareReports, TheOrderOfRowsAndIdsDoesNotMatter) {
  report::NamedReport fresh = named_run("b", 1, {{"two", 60e-6}, {"one", 30e-6}});
  fresh.report.tensors[0].id = "another";
  for (record::Measurement& row : fresh.report.measurements) row.cell.tensor = "another";
  const compare::ComparisonResult result =
      compare(named_run("a", 0, {{"one", 30e-6}, {"two", 60e-6}}), fresh);
  EXPECT_EQ(result.count(compare::CellVerdict::kSame), 2);
}

TEST(CompareReports, SeveralRunsASideArePooled) {
  const compare::ComparisonResult result = compare::compare_reports(
      {plain_run(0), plain_run(1)}, {plain_run(2), plain_run(3), plain_run(4)}, {});
  EXPECT_EQ(cell_of(result, "fused").base->runs, 2);
  EXPECT_EQ(cell_of(result, "fused").fresh->runs, 3);
  EXPECT_EQ(cell_of(result, "fused").fresh->samples, 3 * 41);
}

TEST(CompareReports, SpeedupsThatFallAreSlower) {
  const report::NamedReport base = plain_run(0);
  report::NamedReport fresh = plain_run(1);
  fresh.report.measurements[0] = passed_row("fused", 30e-6, 90e-6);  // same time, less speedup
  EXPECT_EQ(verdict_of(compare(base, fresh, {.metric = compare::Metric::kTime}), "fused"),
            compare::CellVerdict::kSame);
  const compare::ComparisonResult result =
      compare(base, fresh, {.metric = compare::Metric::kSpeedup});
  EXPECT_EQ(verdict_of(result, "fused"), compare::CellVerdict::kSlower);
  EXPECT_NEAR(cell_of(result, "fused").fresh->value, 3.0, 1e-9);
}

TEST(CompareReports, FractionsOfCopyThatFallAreSlower) {
  report::NamedReport fresh = plain_run(1);
  fresh.report.measurements[0].fraction_of_copy = 0.6;  // 2 / 3 in the base
  EXPECT_EQ(verdict_of(compare(plain_run(0), fresh, {.metric = compare::Metric::kFractionOfCopy}),
                       "fused"),
            compare::CellVerdict::kSlower);
}

TEST(CompareReports, MoreEnergyInTheSameTimeIsSlower) {
  report::NamedReport base = plain_run(0);
  report::NamedReport fresh = plain_run(1);
  base.report.measurements[0].energy = record::Energy{.joules = 0.020, .error = 0.004};
  fresh.report.measurements[0].energy = record::Energy{.joules = 0.024, .error = 0.004};
  const compare::ComparisonResult result =
      compare(base, fresh, {.metric = compare::Metric::kEnergy});
  EXPECT_EQ(verdict_of(result, "fused"), compare::CellVerdict::kSlower);
  EXPECT_NEAR(cell_of(result, "fused").fresh->value, 0.024, 1e-12);
  EXPECT_NEAR(cell_of(result, "fused").change->log_ratio, std::log(1.2), 1e-9);
}

TEST(CompareReports, EnergyThatIsNotKnownIsNoMeasurement) {
  report::NamedReport fresh = plain_run(1);
  fresh.report.measurements[0].energy = record::Energy{.unavailable = "there is no counter"};
  const compare::ComparisonResult result =
      compare(fresh, plain_run(2), {.metric = compare::Metric::kEnergy});
  EXPECT_NE(verdict_of(result, "fused"), compare::CellVerdict::kSame);
  EXPECT_FALSE(cell_of(result, "fused").change);
}

TEST(CompareReports, TheErrorOfEnergyWidensTheInterval) {
  const auto half_width = [](double error) {
    report::NamedReport base = plain_run(0);
    report::NamedReport fresh = plain_run(1);
    for (record::Report* each : {&base.report, &fresh.report}) {
      each->measurements[0].energy = record::Energy{.joules = 0.02, .error = error};
    }
    const auto result = compare(base, fresh, {.metric = compare::Metric::kEnergy});
    return cell_of(result, "fused").change->half_width;
  };
  EXPECT_GT(half_width(0.02), 1.5 * half_width(0.004));
}

TEST(CompareReports, ACellThatIsGoneIsMissing) {
  const compare::ComparisonResult result =
      compare(named_run("a", 0, {{"fused", 30e-6}, {"lut", 40e-6}}), plain_run(1));
  EXPECT_EQ(verdict_of(result, "lut"), compare::CellVerdict::kMissing);
  EXPECT_EQ(gate_code(result), ExitCode::kGateFailed);
}

TEST(CompareReports, ACellThatIsSkippedNowIsMissingAndSaysWhy) {
  const compare::ComparisonResult result =
      compare(plain_run(0), changed_run(1, [](record::Measurement& m) {
                m.status = record::Status::kSkipped;
                m.reason = "needs sm_100";
              }));
  EXPECT_EQ(verdict_of(result, "fused"), compare::CellVerdict::kMissing);
  EXPECT_THAT(cell_of(result, "fused").ruling.reason, HasSubstr("needs sm_100"));
  EXPECT_EQ(gate_code(result), ExitCode::kGateFailed);
}

TEST(CompareReports, AFailedCellIsInvalid) {
  const compare::ComparisonResult result =
      compare(plain_run(0),
              changed_run(1, [](record::Measurement& m) { m.status = record::Status::kFailed; }));
  EXPECT_EQ(verdict_of(result, "fused"), compare::CellVerdict::kInvalid);
  EXPECT_EQ(gate_code(result), ExitCode::kGateFailed);
}

TEST(CompareReports, AnImpossiblyFastCellIsInvalidNotFaster) {
  const compare::ComparisonResult result =
      compare(plain_run(0), changed_run(1, [](record::Measurement& m) {
                m = passed_row("fused", 1e-6);
                m.status = record::Status::kInvalid;
              }));
  EXPECT_EQ(verdict_of(result, "fused"), compare::CellVerdict::kInvalid);
}

TEST(CompareReports, AFailedCellWithoutABaseIsInvalid) {
  report::NamedReport fresh = named_run("b", 1, {{"fused", 30e-6}, {"brand_new", 30e-6}});
  fresh.report.measurements[1].status = record::Status::kFailed;
  const compare::ComparisonResult result = compare(plain_run(0), fresh);
  EXPECT_EQ(verdict_of(result, "brand_new"), compare::CellVerdict::kInvalid);
  EXPECT_EQ(gate_code(result), ExitCode::kGateFailed);
}

TEST(CompareReports, OneFailedRunOfSeveralMakesTheCellInvalid) {
  const report::NamedReport bad =
      changed_run(2, [](record::Measurement& m) { m.status = record::Status::kFailed; });
  for (const auto& fresh : {std::vector{plain_run(1), bad}, std::vector{bad, plain_run(1)}}) {
    EXPECT_EQ(verdict_of(compare::compare_reports({plain_run(0)}, fresh, {}), "fused"),
              compare::CellVerdict::kInvalid);
  }
}

TEST(CompareReports, ABaseThatFailedLeavesTheCellUnsure) {
  const compare::ComparisonResult result = compare::compare_reports(
      {changed_run(0, [](record::Measurement& m) { m.status = record::Status::kFailed; })},
      {plain_run(1)}, {});
  EXPECT_EQ(verdict_of(result, "fused"), compare::CellVerdict::kUnsure);
}

TEST(CompareReports, ANewVariantIsListedAndDoesNotStopTheGate) {
  const compare::ComparisonResult result =
      compare(plain_run(0), named_run("b", 1, {{"fused", 30e-6}, {"brand_new", 30e-6}}));
  ASSERT_EQ(result.new_cells.size(), 1u);
  EXPECT_EQ(result.new_cells[0].variant, "brand_new");
  EXPECT_EQ(gate_code(result), ExitCode::kOk);
}

TEST(CompareReports, CellsSkippedOnBothSidesAreNone) {
  const auto skip = [](record::Measurement& m) { m.status = record::Status::kSkipped; };
  EXPECT_TRUE(compare(changed_run(0, skip), changed_run(1, skip)).cells.empty());
}

TEST(CompareReports, OnlyTheVariantsAskedForAreCompared) {
  const compare::ComparisonResult result =
      compare(named_run("a", 0, {{"fused", 30e-6}, {"lut_a", 40e-6}, {"lut_b", 40e-6}}),
              named_run("b", 1, {{"fused", 60e-6}, {"lut_a", 40e-6}, {"lut_b", 40e-6}}),
              {.variants = {"lut_*"}});
  EXPECT_EQ(result.cells.size(), 2u);
  EXPECT_EQ(gate_code(result), ExitCode::kOk);
}

TEST(CompareReports, DefaultsFollowTheDevice) {
  const compare::ComparisonResult gpu = compare(plain_run(0), plain_run(1));
  EXPECT_DOUBLE_EQ(gpu.noise.relative, 0.005);
  EXPECT_DOUBLE_EQ(gpu.threshold, 0.02);
  report::NamedReport other = plain_run(1);
  other.report.device.uuid = "GPU-other";
  const compare::ComparisonResult two = compare(plain_run(0), other, {.allowed = {"uuid"}});
  EXPECT_DOUBLE_EQ(two.noise.relative, 0.01);
  EXPECT_DOUBLE_EQ(two.threshold, 0.04);
  EXPECT_DOUBLE_EQ(compare(plain_run(0), plain_run(1), {.run_noise = 0.03}).threshold, 0.12);
}

TEST(CompareReports, ReportsThatAreNotComparableHaveNoVerdicts) {
  report::NamedReport other = plain_run(1);
  other.report.device.driver = "570";
  const compare::ComparisonResult result = compare(plain_run(0), other);
  EXPECT_FALSE(result.is_comparable);
  EXPECT_TRUE(result.cells.empty());
  EXPECT_EQ(gate_code(result), ExitCode::kNotComparable);
}

void disturb(record::Measurement& row) {
  row.load = record::HostLoad{.processors = 2, .others = 1.0, .disturbed = true};
}

report::NamedReport busy_run(int minute, double factor) {
  return changed_run(minute, [&](record::Measurement& row) {
    for (double& sample : row.samples_s) sample *= factor;
    disturb(row);
  });
}

TEST(CompareReports, WhatIsWithinTheReachOfABusyMachineIsUnsure) {
  for (const double factor : {1.0, 1.03, 0.5}) {
    const compare::ComparisonResult result = compare(plain_run(0), busy_run(1, factor));
    const compare::Ruling& ruling = cell_of(result, "fused").ruling;
    EXPECT_EQ(ruling.verdict, compare::CellVerdict::kUnsure) << factor;
    EXPECT_EQ(ruling.reason, "new: other programs kept 1.0 of 2 processors busy");
  }
}

TEST(CompareReports, AnIntervalAboveTheThresholdIsSlowerOnABusyMachineToo) {
  const compare::ComparisonResult result = compare(plain_run(0), busy_run(1, 1.5));
  const compare::Ruling& ruling = cell_of(result, "fused").ruling;
  EXPECT_EQ(ruling.verdict, compare::CellVerdict::kSlower);
  EXPECT_EQ(ruling.reason, "new: other programs kept 1.0 of 2 processors busy");
  EXPECT_EQ(gate_code(result), ExitCode::kGateFailed);
}

TEST(CompareReports, NothingFollowsFromThreeSamples) {
  const auto cut = [](record::Measurement& row) {
    row.samples_s.resize(3);
    row.sm_clock_hz.resize(3);
  };
  const compare::Ruling ruling =
      cell_of(compare(changed_run(0, cut), plain_run(1)), "fused").ruling;
  EXPECT_EQ(ruling.verdict, compare::CellVerdict::kUnsure);
  EXPECT_EQ(ruling.reason, "base: 3 samples are too few for an interval, which takes 6");
  const report::NamedReport slow = changed_run(1, [&](record::Measurement& row) {
    for (double& sample : row.samples_s) sample *= 3.0;
    cut(row);
    disturb(row);
  });
  EXPECT_EQ(verdict_of(compare(plain_run(0), slow), "fused"), compare::CellVerdict::kUnsure);
}

TEST(CompareReports, AQuietRunOutweighsABusyOne) {
  const compare::ComparisonResult result =
      compare::compare_reports({plain_run(0)},
                               {changed_run(1,
                                            [](record::Measurement& row) {
                                              for (double& sample : row.samples_s) sample *= 3.0;
                                              disturb(row);
                                            }),
                                plain_run(2)},
                               {});
  EXPECT_EQ(verdict_of(result, "fused"), compare::CellVerdict::kSame);
  EXPECT_EQ(cell_of(result, "fused").fresh->runs, 1);
}

TEST(Gate, PassesWhatDidNotChange) {
  EXPECT_EQ(gate_code(compare(plain_run(0), plain_run(1)), compare::Strictness::kStrict),
            ExitCode::kOk);
}

TEST(Gate, FailsOnOneSlowerCell) {
  const compare::GateDecision decision = compare::decide_gate(
      compare(plain_run(0), named_run("b", 1, {{"fused", 33e-6}})), compare::Strictness::kLenient);
  EXPECT_EQ(decision.code, ExitCode::kGateFailed);
  EXPECT_THAT(decision.reasons, ElementsAre("1 cell SLOWER"));
}

TEST(Gate, DoesNotFailBecauseACellGotFaster) {
  EXPECT_EQ(gate_code(compare(plain_run(0), named_run("b", 1, {{"fused", 20e-6}})),
                      compare::Strictness::kStrict),
            ExitCode::kOk);
}

TEST(Gate, SomeUnsureCellsAreInconclusiveOnlyWhenStrict) {
  const compare::ComparisonResult result =
      compare(named_run("a", 0, {{"fused", 30e-6}, {"same", 30e-6}}),
              named_run("b", 1, {{"fused", 32.5e-6}, {"same", 30e-6}}),
              {.threshold = 0.07, .run_noise = 0.025});
  ASSERT_EQ(result.count(compare::CellVerdict::kUnsure), 1);
  ASSERT_EQ(result.count(compare::CellVerdict::kSame), 1);
  EXPECT_EQ(gate_code(result, compare::Strictness::kLenient), ExitCode::kOk);
  EXPECT_EQ(gate_code(result, compare::Strictness::kStrict), ExitCode::kInconclusive);
}

TEST(Gate, IsInconclusiveWhereNoCellWasDecided) {
  const compare::GateDecision decision =
      compare::decide_gate(compare(plain_run(0), busy_run(1, 1.0)), compare::Strictness::kLenient);
  EXPECT_EQ(decision.code, ExitCode::kInconclusive);
  EXPECT_THAT(decision.reasons, ElementsAre("no cell was decided"));
}

TEST(Gate, AnEmptyReportDoesNotPass) {
  EXPECT_EQ(gate_code(compare(plain_run(0), named_run("b", 1, {}))), ExitCode::kGateFailed);
  EXPECT_EQ(gate_code(compare(named_run("a", 0, {}), plain_run(1))), ExitCode::kGateFailed);
  EXPECT_EQ(gate_code(compare(named_run("a", 0, {}), named_run("b", 1, {}))),
            ExitCode::kGateFailed);
}

TEST(Gate, AnIncompleteReportDoesNotPass) {
  report::NamedReport fresh = plain_run(1);
  fresh.report.complete = false;
  const compare::GateDecision decision =
      compare::decide_gate(compare(plain_run(0), fresh), compare::Strictness::kLenient);
  EXPECT_EQ(decision.code, ExitCode::kGateFailed);
  EXPECT_THAT(decision.reasons, ElementsAre(HasSubstr("incomplete")));
}

// An old file that was left in place of the one that a failed job should have written.
TEST(Gate, TheSameRunOnBothSidesDoesNotPass) {
  const compare::GateDecision decision =
      compare::decide_gate(compare(plain_run(0), plain_run(0)), compare::Strictness::kLenient);
  EXPECT_EQ(decision.code, ExitCode::kGateFailed);
  EXPECT_THAT(decision.reasons, ElementsAre(HasSubstr("the same run")));
}

TEST(Gate, AFilterThatLeavesNothingDoesNotPass) {
  EXPECT_EQ(gate_code(compare(plain_run(0), plain_run(1), {.variants = {"nothing*"}})),
            ExitCode::kGateFailed);
}

TEST(Gate, ReportsOfOtherGeometriesDoNotPass) {
  report::NamedReport fresh = plain_run(1);
  fresh.report.tensors[0].geometry.shape = {2048, 4096};
  EXPECT_EQ(gate_code(compare(plain_run(0), fresh)), ExitCode::kGateFailed);
}

}  // namespace
}  // namespace nf4bench
