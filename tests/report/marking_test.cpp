#include "report/marking.hpp"

#include "report/golden_file.hpp"
#include "report/sample_reports.hpp"
#include "text/text_grid.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

namespace nf4bench {
namespace {

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

report::Marking mark_one(const record::Report& report) {
  const std::vector<report::Marking> all = report::mark_variants(report);
  return all.size() == 1 ? all.front() : report::Marking();
}

int total_of(const record::Report& report) {
  const report::Marking marking = mark_one(report);
  return marking.points ? marking.points->total() : -1000;
}

// The published scheme has 14 points at most, of which torch.compile is one.
TEST(Marking, GivesAllButThePointForTorchCompileToTheBest) {
  EXPECT_EQ(total_of(run_of_one(1.5)), report::kMostMarkingPoints - 1);
}

TEST(Marking, AddsUpTheTiersOfSpeedup) {
  struct Case {
    double ratio;
    int points;
    std::optional<double> tier;
  };
  const Case cases[] = {{0.50, -3, {}},   {1.00, -3, {}},   {1.01, 0, {}},   {1.049, 0, {}},
                        {1.051, 1, 1.05}, {1.099, 1, 1.05}, {1.101, 3, 1.1}, {1.149, 3, 1.1},
                        {1.151, 5, 1.15}, {4.00, 5, 1.15}};
  for (const Case& each : cases) {
    const report::Marking marking = mark_one(run_of_one(each.ratio));
    ASSERT_TRUE(marking.points) << each.ratio;
    EXPECT_EQ(marking.points->speedup, each.points) << each.ratio;
    EXPECT_EQ(marking.speedup_tier, each.tier) << each.ratio;
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
  const report::Marking marking = mark_one(report);
  EXPECT_TRUE(marking.tested_float16);
  EXPECT_FALSE(marking.tested_bfloat16);
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
  const report::Marking marking = mark_one(report);
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
  const report::Marking marking = mark_one(compiled_run());
  EXPECT_EQ(marking.torch_compile, true);
  EXPECT_EQ(marking.torch_compile_reason, "");
  ASSERT_TRUE(marking.points);
  EXPECT_EQ(marking.points->torch_compile, 1);
  EXPECT_EQ(marking.points->total(), report::kMostMarkingPoints);
  EXPECT_NEAR(marking.speedup.value_or(0.0), 1.5, 1e-12);  // its own, not that of the traced one
}

TEST(Marking, TakesAPointWhereTorchCompileBreaksAFunction) {
  record::Report report = compiled_run();
  report.measurements[3].status = record::Status::kFailed;
  report.measurements[3].reason = "Unsupported: Graph break";
  const report::Marking marking = mark_one(report);
  EXPECT_EQ(marking.torch_compile, false);
  EXPECT_EQ(marking.torch_compile_reason,
            "through torch.compile 1 of 2 measurements passed: Unsupported: Graph break");
  ASSERT_TRUE(marking.points);
  EXPECT_EQ(marking.points->torch_compile, -1);
  EXPECT_EQ(marking.points->total(), report::kMostMarkingPoints - 2);
}

TEST(Marking, AsksForTheTracedFunctionWhereverTheFunctionItselfWasMeasured) {
  record::Report report = compiled_run();
  report.measurements.pop_back();
  EXPECT_EQ(mark_one(report).torch_compile, false);
  EXPECT_EQ(mark_one(run_of_one(1.5)).torch_compile, std::nullopt);
}

TEST(Marking, IsNotForTheCpu) {
  record::Report report = run_of_one(1.5);
  report.device.kind = record::DeviceKind::kCpu;
  EXPECT_TRUE(report::mark_variants(report).empty());
}

TEST(MarkingTable, LooksRightIn100Columns) {
  expect_golden("gpu_marking_100.txt",
                report::to_table(gpu_report(), {.width = 100, .colour = false, .marking = true}));
}

TEST(MarkingTable, IsShownOnlyWhenAskedFor) {
  EXPECT_EQ(report::to_table(gpu_report(), {.width = 100}).find("Unsloth"), std::string::npos);
}

TEST(MarkingTable, FitsEveryWidthFrom48Columns) {
  for (int width = 48; width <= 140; ++width) {
    std::istringstream lines(report::to_table(gpu_report(), {.width = width, .marking = true}));
    for (std::string line; std::getline(lines, line);)
      ASSERT_LE(text::text_width(line), width) << line;
  }
}

TEST(MarkingTable, HasAColumnForTorchCompileWhereItWasAskedFor) {
  const std::string table = report::to_table(compiled_run(), {.width = 100, .marking = true});
  EXPECT_NE(table.find("compile     asm"), std::string::npos) << table;
  EXPECT_NE(table.find("1.500x +5   yes +1  yes +3"), std::string::npos) << table;
  EXPECT_NE(table.find("traced whole"), std::string::npos) << table;
}

TEST(MarkingTable, SaysWhyACpuHasNone) {
  const std::string table = report::to_table(cpu_report(), {.width = 100, .marking = true});
  EXPECT_NE(table.find("none: the scheme is about GPU kernels"), std::string::npos);
}

}  // namespace
}  // namespace nf4bench
