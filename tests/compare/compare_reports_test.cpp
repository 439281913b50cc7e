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

const ComparedCell& cell_of(const ComparisonResult& result, const std::string& variant) {
  for (const ComparedCell& cell : result.cells) {
    if (cell.key.variant == variant) return cell;
  }
  throw std::runtime_error("no cell of " + variant);
}

ComparisonResult compare(const NamedReport& base, const NamedReport& fresh,
                         const CompareOptions& options = {}) {
  return compare_reports({base}, {fresh}, options);
}

CellVerdict verdict_of(const ComparisonResult& result, const std::string& variant) {
  return cell_of(result, variant).ruling.verdict;
}

ExitCode gate_code(const ComparisonResult& result, Strictness strictness = Strictness::kLenient) {
  return decide_gate(result, strictness).code;
}

// A run of "fused" alone, with the row changed by `change`.
template <class Change>
NamedReport changed_run(int minute, Change&& change) {
  NamedReport run = named_run("changed", minute, {{"fused", 30e-6}});
  change(run.report.measurements[0]);
  return run;
}

NamedReport plain_run(int minute) {
  return named_run("plain", minute, {{"fused", 30e-6}});
}

TEST(CompareReports, CellsGetTheirOwnVerdicts) {
  const ComparisonResult result =
      compare(named_run("a", 0, {{"same", 30e-6}, {"slower", 30e-6}, {"faster", 30e-6}}),
              named_run("b", 1, {{"same", 30e-6}, {"slower", 33e-6}, {"faster", 27e-6}}));
  EXPECT_EQ(verdict_of(result, "same"), CellVerdict::kSame);
  EXPECT_EQ(verdict_of(result, "slower"), CellVerdict::kSlower);
  EXPECT_EQ(verdict_of(result, "faster"), CellVerdict::kFaster);
  EXPECT_EQ(result.measured(), 3);
  EXPECT_NEAR(*result.median_log_change, 0.0, 1e-9);
  EXPECT_NEAR(cell_of(result, "slower").base->value, 30e-6, 1e-12);
  EXPECT_NEAR(cell_of(result, "slower").fresh->value, 33e-6, 1e-12);
}

TEST(CompareReports, TheOrderOfRowsAndIdsDoesNotMatter) {
  NamedReport fresh = named_run("b", 1, {{"two", 60e-6}, {"one", 30e-6}});
  fresh.report.tensors[0].id = "another";
  for (Measurement& row : fresh.report.measurements) row.tensor = "another";
  const ComparisonResult result =
      compare(named_run("a", 0, {{"one", 30e-6}, {"two", 60e-6}}), fresh);
  EXPECT_EQ(result.count(CellVerdict::kSame), 2);
}

TEST(CompareReports, SeveralRunsASideArePooled) {
  const ComparisonResult result =
      compare_reports({plain_run(0), plain_run(1)}, {plain_run(2), plain_run(3), plain_run(4)}, {});
  EXPECT_EQ(cell_of(result, "fused").base->runs, 2);
  EXPECT_EQ(cell_of(result, "fused").fresh->runs, 3);
  EXPECT_EQ(cell_of(result, "fused").fresh->samples, 3 * 41);
}

TEST(CompareReports, SpeedupsThatFallAreSlower) {
  const NamedReport base = plain_run(0);
  NamedReport fresh = plain_run(1);
  fresh.report.measurements[0] = passed_row("fused", 30e-6, 90e-6);  // same time, less speedup
  EXPECT_EQ(verdict_of(compare(base, fresh, {.metric = Metric::kTime}), "fused"),
            CellVerdict::kSame);
  const ComparisonResult result = compare(base, fresh, {.metric = Metric::kSpeedup});
  EXPECT_EQ(verdict_of(result, "fused"), CellVerdict::kSlower);
  EXPECT_NEAR(cell_of(result, "fused").fresh->value, 3.0, 1e-9);
}

TEST(CompareReports, FractionsOfCopyThatFallAreSlower) {
  NamedReport fresh = plain_run(1);
  fresh.report.measurements[0].fraction_of_copy = 0.6;  // 2 / 3 in the base
  EXPECT_EQ(verdict_of(compare(plain_run(0), fresh, {.metric = Metric::kFractionOfCopy}), "fused"),
            CellVerdict::kSlower);
}

TEST(CompareReports, ACellThatIsGoneIsMissing) {
  const ComparisonResult result =
      compare(named_run("a", 0, {{"fused", 30e-6}, {"lut", 40e-6}}), plain_run(1));
  EXPECT_EQ(verdict_of(result, "lut"), CellVerdict::kMissing);
  EXPECT_EQ(gate_code(result), ExitCode::kGateFailed);
}

TEST(CompareReports, ACellThatIsSkippedNowIsMissingAndSaysWhy) {
  const ComparisonResult result = compare(plain_run(0), changed_run(1, [](Measurement& m) {
                                            m.status = Status::kSkipped;
                                            m.reason = "needs sm_100";
                                          }));
  EXPECT_EQ(verdict_of(result, "fused"), CellVerdict::kMissing);
  EXPECT_THAT(cell_of(result, "fused").ruling.reason, HasSubstr("needs sm_100"));
  EXPECT_EQ(gate_code(result), ExitCode::kGateFailed);
}

TEST(CompareReports, AFailedCellIsInvalid) {
  const ComparisonResult result =
      compare(plain_run(0), changed_run(1, [](Measurement& m) { m.status = Status::kFailed; }));
  EXPECT_EQ(verdict_of(result, "fused"), CellVerdict::kInvalid);
  EXPECT_EQ(gate_code(result), ExitCode::kGateFailed);
}

TEST(CompareReports, AnImpossiblyFastCellIsInvalidNotFaster) {
  const ComparisonResult result = compare(plain_run(0), changed_run(1, [](Measurement& m) {
                                            m = passed_row("fused", 1e-6);
                                            m.status = Status::kInvalid;
                                          }));
  EXPECT_EQ(verdict_of(result, "fused"), CellVerdict::kInvalid);
}

TEST(CompareReports, AFailedCellWithoutABaseIsInvalid) {
  NamedReport fresh = named_run("b", 1, {{"fused", 30e-6}, {"brand_new", 30e-6}});
  fresh.report.measurements[1].status = Status::kFailed;
  const ComparisonResult result = compare(plain_run(0), fresh);
  EXPECT_EQ(verdict_of(result, "brand_new"), CellVerdict::kInvalid);
  EXPECT_EQ(gate_code(result), ExitCode::kGateFailed);
}

TEST(CompareReports, OneFailedRunOfSeveralMakesTheCellInvalid) {
  const NamedReport bad = changed_run(2, [](Measurement& m) { m.status = Status::kFailed; });
  for (const auto& fresh : {std::vector{plain_run(1), bad}, std::vector{bad, plain_run(1)}}) {
    EXPECT_EQ(verdict_of(compare_reports({plain_run(0)}, fresh, {}), "fused"),
              CellVerdict::kInvalid);
  }
}

TEST(CompareReports, ABaseThatFailedLeavesTheCellUnsure) {
  const ComparisonResult result = compare_reports(
      {changed_run(0, [](Measurement& m) { m.status = Status::kFailed; })}, {plain_run(1)}, {});
  EXPECT_EQ(verdict_of(result, "fused"), CellVerdict::kUnsure);
}

TEST(CompareReports, ANewVariantIsListedAndDoesNotStopTheGate) {
  const ComparisonResult result =
      compare(plain_run(0), named_run("b", 1, {{"fused", 30e-6}, {"brand_new", 30e-6}}));
  ASSERT_EQ(result.new_cells.size(), 1u);
  EXPECT_EQ(result.new_cells[0].variant, "brand_new");
  EXPECT_EQ(gate_code(result), ExitCode::kOk);
}

TEST(CompareReports, CellsSkippedOnBothSidesAreNone) {
  const auto skip = [](Measurement& m) { m.status = Status::kSkipped; };
  EXPECT_TRUE(compare(changed_run(0, skip), changed_run(1, skip)).cells.empty());
}

TEST(CompareReports, OnlyTheVariantsAskedForAreCompared) {
  const ComparisonResult result =
      compare(named_run("a", 0, {{"fused", 30e-6}, {"lut_a", 40e-6}, {"lut_b", 40e-6}}),
              named_run("b", 1, {{"fused", 60e-6}, {"lut_a", 40e-6}, {"lut_b", 40e-6}}),
              {.variants = {"lut_*"}});
  EXPECT_EQ(result.cells.size(), 2u);
  EXPECT_EQ(gate_code(result), ExitCode::kOk);
}

TEST(CompareReports, DefaultsFollowTheDevice) {
  const ComparisonResult gpu = compare(plain_run(0), plain_run(1));
  EXPECT_DOUBLE_EQ(gpu.noise.relative, 0.005);
  EXPECT_DOUBLE_EQ(gpu.threshold, 0.02);
  NamedReport other = plain_run(1);
  other.report.device.uuid = "GPU-other";
  const ComparisonResult two = compare(plain_run(0), other, {.allowed = {"uuid"}});
  EXPECT_DOUBLE_EQ(two.noise.relative, 0.01);
  EXPECT_DOUBLE_EQ(two.threshold, 0.04);
  EXPECT_DOUBLE_EQ(compare(plain_run(0), plain_run(1), {.run_noise = 0.03}).threshold, 0.12);
}

TEST(CompareReports, ReportsThatAreNotComparableHaveNoVerdicts) {
  NamedReport other = plain_run(1);
  other.report.device.driver = "570";
  const ComparisonResult result = compare(plain_run(0), other);
  EXPECT_FALSE(result.is_comparable);
  EXPECT_TRUE(result.cells.empty());
  EXPECT_EQ(gate_code(result), ExitCode::kNotComparable);
}

TEST(Gate, PassesWhatDidNotChange) {
  EXPECT_EQ(gate_code(compare(plain_run(0), plain_run(1)), Strictness::kStrict), ExitCode::kOk);
}

TEST(Gate, FailsOnOneSlowerCell) {
  const GateDecision decision = decide_gate(
      compare(plain_run(0), named_run("b", 1, {{"fused", 33e-6}})), Strictness::kLenient);
  EXPECT_EQ(decision.code, ExitCode::kGateFailed);
  EXPECT_THAT(decision.reasons, ElementsAre("1 cell SLOWER"));
}

TEST(Gate, DoesNotFailBecauseACellGotFaster) {
  EXPECT_EQ(
      gate_code(compare(plain_run(0), named_run("b", 1, {{"fused", 20e-6}})), Strictness::kStrict),
      ExitCode::kOk);
}

TEST(Gate, UnsureIsInconclusiveOnlyWhenStrict) {
  const ComparisonResult result = compare(plain_run(0), named_run("b", 1, {{"fused", 31.5e-6}}),
                                          {.threshold = 0.02, .run_noise = 0.03});
  ASSERT_EQ(result.count(CellVerdict::kUnsure), 1);
  EXPECT_EQ(gate_code(result, Strictness::kLenient), ExitCode::kOk);
  EXPECT_EQ(gate_code(result, Strictness::kStrict), ExitCode::kInconclusive);
}

TEST(Gate, AnEmptyReportDoesNotPass) {
  EXPECT_EQ(gate_code(compare(plain_run(0), named_run("b", 1, {}))), ExitCode::kGateFailed);
  EXPECT_EQ(gate_code(compare(named_run("a", 0, {}), plain_run(1))), ExitCode::kGateFailed);
  EXPECT_EQ(gate_code(compare(named_run("a", 0, {}), named_run("b", 1, {}))),
            ExitCode::kGateFailed);
}

TEST(Gate, AnIncompleteReportDoesNotPass) {
  NamedReport fresh = plain_run(1);
  fresh.report.complete = false;
  const GateDecision decision = decide_gate(compare(plain_run(0), fresh), Strictness::kLenient);
  EXPECT_EQ(decision.code, ExitCode::kGateFailed);
  EXPECT_THAT(decision.reasons, ElementsAre(HasSubstr("incomplete")));
}

// An old file that was left in place of the one that a failed job should have written.
TEST(Gate, TheSameRunOnBothSidesDoesNotPass) {
  const GateDecision decision =
      decide_gate(compare(plain_run(0), plain_run(0)), Strictness::kLenient);
  EXPECT_EQ(decision.code, ExitCode::kGateFailed);
  EXPECT_THAT(decision.reasons, ElementsAre(HasSubstr("the same run")));
}

TEST(Gate, AFilterThatLeavesNothingDoesNotPass) {
  EXPECT_EQ(gate_code(compare(plain_run(0), plain_run(1), {.variants = {"nothing*"}})),
            ExitCode::kGateFailed);
}

TEST(Gate, ReportsOfOtherGeometriesDoNotPass) {
  NamedReport fresh = plain_run(1);
  fresh.report.tensors[0].shape = {2048, 4096};
  EXPECT_EQ(gate_code(compare(plain_run(0), fresh)), ExitCode::kGateFailed);
}

}  // namespace
}  // namespace nf4bench
