#include "exports/marking.hpp"

#include "exports/export.hpp"
#include "exports/exported.hpp"
#include "report/sample_reports.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace nf4bench {
namespace {

using test::exported;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

record::Measurement passed(nf4::OutputType type, double ratio) {
  record::Measurement m;
  m.cell.operation = "dequantize";
  m.variant = "kernel";
  m.cell.output_type = type;
  m.status = record::Status::kPassed;
  m.speedup = record::Speedup{"base", ratio, {{ratio, ratio}}};
  return m;
}

// A run on a GPU of one variant that has all that earns points, and is `ratio` times as fast.
record::Report run_of_one(double ratio) {
  record::Report report;
  report.device.kind = record::DeviceKind::kCuda;
  record::ReportVariant variant;
  variant.name = "kernel";
  variant.inline_ptx = true;
  variant.cache_hints = true;
  report.variants = {variant};
  report.measurements = {passed(nf4::OutputType::kFloat16, ratio),
                         passed(nf4::OutputType::kBfloat16, ratio)};
  return report;
}

exports::Marking mark_one(const record::Report& report) {
  const std::vector<exports::Marking> all = exports::mark_variants(report);
  return all.size() == 1 ? all.front() : exports::Marking();
}

int total_of(const record::Report& report) {
  const exports::Marking marking = mark_one(report);
  return marking.points ? marking.points->total() : -1000;
}

// The published scheme has 14 points at most, of which torch.compile is one.
TEST(Marking, GivesAllButThePointForTorchCompileToTheBest) {
  EXPECT_EQ(total_of(run_of_one(1.5)), exports::kMostMarkingPoints - 1);
}

TEST(Marking, AddsUpTheTiersOfSpeedup) {
  struct Case {
    double ratio;
    int points;
  };
  const Case cases[] = {{0.50, -3}, {1.00, -3}, {1.01, 0},  {1.049, 0}, {1.051, 1},
                        {1.099, 1}, {1.101, 3}, {1.149, 3}, {1.151, 5}, {4.00, 5}};
  for (const Case& each : cases) {
    const exports::Marking marking = mark_one(run_of_one(each.ratio));
    ASSERT_TRUE(marking.points) << each.ratio;
    EXPECT_EQ(marking.points->speedup, each.points) << each.ratio;
  }
}

TEST(Marking, TakesTheGeometricMeanOverTheCellsThatPassed) {
  record::Report report = run_of_one(2.0);
  report.measurements[1].speedup->ratio = 8.0;
  report.measurements.push_back(passed(nf4::OutputType::kFloat32, 100.0));
  report.measurements.back().status = record::Status::kInvalid;
  report.measurements.push_back(passed(nf4::OutputType::kFloat32, 100.0));
  report.measurements.back().variant = "another";
  EXPECT_NEAR(mark_one(report).speedup.value_or(0.0), 4.0, 1e-12);
}

TEST(Marking, TakesOnePointForATypeThatWasNotTested) {
  record::Report report = run_of_one(1.5);
  report.measurements[1].status = record::Status::kSkipped;
  const exports::Marking marking = mark_one(report);
  ASSERT_TRUE(marking.points);
  EXPECT_EQ(marking.points->tested_types, -1);
  report.measurements[1] = passed(nf4::OutputType::kFloat32, 1.5);
  EXPECT_EQ(total_of(report), 11);
}

TEST(Marking, GivesNothingForWhatAVariantDoesNotDo) {
  record::Report report = run_of_one(1.5);
  report.variants[0].launches = 3;
  EXPECT_EQ(total_of(report), 10);
  report.variants[0].inline_ptx = false;
  EXPECT_EQ(total_of(report), 7);
  report.variants[0].cache_hints = false;
  EXPECT_EQ(total_of(report), 6);
}

TEST(Marking, GivesNoPointsForWrongOutput) {
  record::Report report = run_of_one(1.5);
  report.measurements.push_back(passed(nf4::OutputType::kFloat32, 1.5));
  report.measurements.back().status = record::Status::kFailed;
  const exports::Marking marking = mark_one(report);
  EXPECT_FALSE(marking.points);
  EXPECT_EQ(marking.reason, "1 of its 3 measurements failed");
}

TEST(Marking, GivesNoPointsForWhatWasNotMeasured) {
  record::Report report = run_of_one(1.5);
  for (record::Measurement& m : report.measurements) m.speedup.reset();
  EXPECT_EQ(mark_one(report).reason, "it has no speedup: the baseline was not timed in its cells");
  EXPECT_FALSE(mark_one(report).points);
  report.measurements.clear();
  EXPECT_EQ(mark_one(report).reason, "none of its measurements passed");
  EXPECT_FALSE(mark_one(report).points);
}

// A run of a function of a Python file, which was measured through torch.compile as well.
record::Report compiled_run() {
  record::Report report = run_of_one(1.5);
  record::ReportVariant compiled = report.variants[0];
  compiled.name = "kernel_compiled";
  compiled.compiled_from = "kernel";
  report.variants.push_back(compiled);
  for (const nf4::OutputType type : {nf4::OutputType::kFloat16, nf4::OutputType::kBfloat16}) {
    report.measurements.push_back(passed(type, 0.9));
    report.measurements.back().variant = "kernel_compiled";
  }
  return report;
}

TEST(Marking, GivesAllPointsToAPythonFunctionThatTorchCompileTracesWhole) {
  const exports::Marking marking = mark_one(compiled_run());
  EXPECT_EQ(marking.torch_compile_reason, "");
  ASSERT_TRUE(marking.points);
  EXPECT_EQ(marking.points->torch_compile, 1);
  EXPECT_EQ(marking.points->total(), exports::kMostMarkingPoints);
  EXPECT_NEAR(marking.speedup.value_or(0.0), 1.5, 1e-12);  // its own, not that of the traced one
}

TEST(Marking, TakesAPointWhereTorchCompileBreaksAFunction) {
  record::Report report = compiled_run();
  report.measurements[3].status = record::Status::kFailed;
  report.measurements[3].reason = "Unsupported: Graph break";
  const exports::Marking marking = mark_one(report);
  EXPECT_EQ(marking.torch_compile_reason,
            "through torch.compile 1 of 2 measurements passed: Unsupported: Graph break");
  ASSERT_TRUE(marking.points);
  EXPECT_EQ(marking.points->torch_compile, -1);
  EXPECT_EQ(marking.points->total(), exports::kMostMarkingPoints - 2);
}

TEST(Marking, AsksForTheTracedFunctionWhereverTheFunctionItselfWasMeasured) {
  record::Report report = compiled_run();
  report.measurements.pop_back();
  EXPECT_EQ(mark_one(report).points->torch_compile, -1);
  EXPECT_EQ(mark_one(run_of_one(1.5)).points->torch_compile, std::nullopt);
}

TEST(Marking, IsNotForTheCpu) {
  record::Report report = run_of_one(1.5);
  report.device.kind = record::DeviceKind::kCpu;
  EXPECT_TRUE(exports::mark_variants(report).empty());
}

TEST(MarkingTable, HasALineForEachVariant) {
  const std::string text = exported(exports::to_marking, compiled_run());
  EXPECT_THAT(text, StartsWith("### Marks by the scheme of Unsloth's challenge A\n"));
  EXPECT_THAT(text, HasSubstr("\n| kernel | 3 | 1.500x +5 | +1 | 3 | 1 | 1 | 14 |\n"));
  EXPECT_THAT(text, Not(HasSubstr("kernel_compiled")));
}

TEST(MarkingTable, SaysWhyThereAreNoPoints) {
  record::Report report = compiled_run();
  report.measurements[0].status = record::Status::kFailed;
  EXPECT_THAT(exported(exports::to_marking, report),
              HasSubstr("| kernel | no points: 1 of its 2 measurements failed |"));
  report = compiled_run();
  report.measurements[3].status = record::Status::kFailed;
  report.measurements[3].reason = "Unsupported: Graph break";
  EXPECT_THAT(exported(exports::to_marking, report),
              HasSubstr("\n> kernel: through torch.compile 1 of 2 "
                        "measurements passed: Unsupported: Graph break\n"));
}

TEST(MarkingTable, LeavesTorchCompileOpenForKernelsOfABinary) {
  EXPECT_THAT(exported(exports::to_marking, run_of_one(1.5)), HasSubstr("| 1.500x +5 | - | 3 |"));
}

TEST(MarkingTable, SaysWhyACpuHasNone) {
  EXPECT_THAT(exported(exports::to_marking, cpu_report()),
              HasSubstr("None: the scheme is about GPU kernels"));
}

}  // namespace
}  // namespace nf4bench
