#include "compare/run_cells.hpp"

#include "compare/report_maker.hpp"
#include "record/samples.hpp"
#include "statistics/statistics.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace nf4bench {
namespace {

using test::gpu_run;
using test::passed_row;
using test::RunSimulator;

record::Report report_of(std::vector<record::Measurement> rows) {
  record::Report report = gpu_run(0);
  report.measurements = std::move(rows);
  return report;
}

compare::RunCell only_cell(const record::Measurement& row,
                           compare::Metric metric = compare::Metric::kTime) {
  const std::vector<compare::RunCell> cells = compare::run_cells(report_of({row}), metric);
  EXPECT_EQ(cells.size(), 1u);
  return cells.at(0);
}

TEST(RunCells, ATimeIsTheMedianOfItsSamples) {
  const compare::RunCell cell = only_cell(passed_row("fused", 32e-6));
  EXPECT_EQ(cell.state, compare::CellState::kMeasured);
  EXPECT_DOUBLE_EQ(cell.value.time_s, 32e-6);
  EXPECT_DOUBLE_EQ(cell.value.log_cost, std::log(32e-6));
  EXPECT_EQ(cell.value.samples, 41);
}

TEST(RunCells, ADigestSaysWhatItsSamplesSaid) {
  RunSimulator simulator({}, 17);
  record::Report report = simulator.draw({30e-6, 50e-6}).report;
  const std::vector<compare::RunCell> before = compare::run_cells(report, compare::Metric::kTime);
  for (record::Measurement& m : report.measurements) record::leave_out_samples(m);
  ASSERT_TRUE(report.measurements[0].samples_s.empty());
  const std::vector<compare::RunCell> after = compare::run_cells(report, compare::Metric::kTime);
  ASSERT_EQ(after.size(), 2u);
  for (std::size_t i = 0; i < after.size(); ++i) {
    EXPECT_EQ(after[i].state, compare::CellState::kMeasured) << after[i].reason;
    EXPECT_DOUBLE_EQ(after[i].value.log_cost, before[i].value.log_cost);
    EXPECT_DOUBLE_EQ(after[i].value.log_error, before[i].value.log_error);
    EXPECT_EQ(after[i].value.clock_hz, before[i].value.clock_hz);
    EXPECT_EQ(after[i].value.samples, before[i].value.samples);
    EXPECT_EQ(after[i].value.doubt, before[i].value.doubt);
  }
}

TEST(RunCells, ADigestWithoutAMedianIsWrong) {
  record::Measurement row = passed_row("fused", 30e-6);
  record::leave_out_samples(row);
  row.time_s.reset();
  EXPECT_EQ(only_cell(row).reason, "passed, but its median is not a positive time");
}

TEST(RunCells, MoreIsSlowerWhateverTheMetric) {
  for (const compare::Metric metric : kWords<compare::Metric>) {
    record::Measurement fast = passed_row("fused", 30e-6);
    record::Measurement slow = passed_row("fused", 33e-6);
    fast.energy = record::Energy{.joules = 0.02};
    slow.energy = record::Energy{.joules = 0.03};
    EXPECT_LT(only_cell(fast, metric).value.log_cost, only_cell(slow, metric).value.log_cost)
        << to_string(metric);
  }
}

TEST(RunCells, TheBaselineHasNoSpeedupToCompare) {
  const record::Report report =
      report_of({passed_row("multi_kernel", 100e-6), passed_row("fused", 30e-6)});
  const std::vector<compare::RunCell> cells = compare::run_cells(report, compare::Metric::kSpeedup);
  ASSERT_EQ(cells.size(), 1u);
  EXPECT_EQ(cells[0].key.variant, "fused");
}

TEST(RunCells, AFailedRowIsWrongAndSaysWhy) {
  record::Measurement row = passed_row("fused", 30e-6);
  row.status = record::Status::kFailed;
  row.reason = "12 elements differ";
  const compare::RunCell cell = only_cell(row);
  EXPECT_EQ(cell.state, compare::CellState::kWrong);
  EXPECT_EQ(cell.reason, "failed: 12 elements differ");
}

TEST(RunCells, AnInvalidRowIsWrongAlthoughItHasSamples) {
  record::Measurement row = passed_row("fused", 30e-6);
  row.status = record::Status::kInvalid;
  EXPECT_EQ(only_cell(row).state, compare::CellState::kWrong);
}

TEST(RunCells, PassedWithoutSamplesIsWrong) {
  record::Measurement row = passed_row("fused", 30e-6);
  row.samples_s.clear();
  row.sm_clock_hz.clear();
  EXPECT_EQ(only_cell(row).state, compare::CellState::kWrong);
}

TEST(RunCells, ASampleOfZeroIsWrong) {
  record::Measurement row = passed_row("fused", 30e-6);
  row.samples_s[7] = 0.0;
  EXPECT_EQ(only_cell(row).state, compare::CellState::kWrong);
}

TEST(RunCells, FiveSamplesDecideNothing) {
  record::Measurement row = passed_row("fused", 30e-6);
  row.samples_s.resize(5);
  row.sm_clock_hz.resize(5);
  EXPECT_EQ(only_cell(row).state, compare::CellState::kMeasured);
  EXPECT_EQ(only_cell(row).value.doubt, "5 samples are too few for an interval, which takes 6");
  row.samples_s.push_back(30e-6);
  row.sm_clock_hz.push_back(1.98e9);
  EXPECT_EQ(only_cell(row).value.doubt, "");
}

TEST(RunCells, ATimeOfABusyMachineDecidesNothing) {
  record::Measurement row = passed_row("fused", 30e-6);
  row.load = record::HostLoad{.processors = 2, .others = 0.96};
  EXPECT_EQ(only_cell(row).value.doubt, "");
  row.load->disturbed = true;
  EXPECT_EQ(only_cell(row).value.doubt, "other programs kept 1.0 of 2 processors busy");
}

TEST(RunCells, AMissingRatioIsWrongOnlyWhereItIsCompared) {
  record::Measurement row = passed_row("fused", 30e-6);
  row.speedup.reset();
  row.fraction_of_copy.reset();
  EXPECT_EQ(only_cell(row, compare::Metric::kSpeedup).state, compare::CellState::kWrong);
  EXPECT_EQ(only_cell(row, compare::Metric::kFractionOfCopy).state, compare::CellState::kWrong);
  EXPECT_EQ(only_cell(row, compare::Metric::kTime).state, compare::CellState::kMeasured);
}

TEST(RunCells, TensorsOfOneGeometryShareACell) {
  record::Report report = report_of({passed_row("fused", 30e-6), passed_row("fused", 32e-6)});
  report.tensors.push_back(report.tensors[0]);
  report.tensors[1].id = "t1";
  report.tensors[1].name = "another";
  report.measurements[1].cell.tensor = "t1";
  const std::vector<compare::RunCell> cells = compare::run_cells(report, compare::Metric::kTime);
  ASSERT_EQ(cells.size(), 1u);
  EXPECT_NEAR(cells[0].value.log_cost, (std::log(30e-6) + std::log(32e-6)) / 2.0, 1e-12);
  report.measurements[1].status = record::Status::kFailed;
  EXPECT_EQ(compare::run_cells(report, compare::Metric::kTime)[0].state,
            compare::CellState::kWrong);
}

TEST(RunCells, GeometriesThatDifferInOneFactAreDifferentCells) {
  const record::ReportTensor tensor = gpu_run(0).tensors[0];
  const record::Measurement row = passed_row("fused", 30e-6);
  const compare::CellKey key = compare::key_of(tensor, row);
  record::ReportTensor other = tensor;
  other.geometry.blocksize = 128;
  EXPECT_NE(key, compare::key_of(other, row));
  other = tensor;
  other.geometry.absmax_kind = nf4::AbsmaxKind::kPlain;
  EXPECT_NE(key, compare::key_of(other, row));
  other = tensor;
  other.geometry.shape = {4096, 2048};
  EXPECT_NE(key, compare::key_of(other, row));
  record::Measurement moved = row;
  moved.cell.cache = record::CacheMode::kHot;
  EXPECT_NE(key, compare::key_of(tensor, moved));
  moved = row;
  moved.cell.launch = record::LaunchMode::kStream;
  EXPECT_NE(key, compare::key_of(tensor, moved));
  moved = row;
  moved.cell.output_type = nf4::OutputType::kFloat32;
  EXPECT_NE(key, compare::key_of(tensor, moved));
  other = tensor;
  other.name = "a name does not matter";
  EXPECT_EQ(key, compare::key_of(other, row));
}

// The standard error of a median of n normal samples is 1.2533 sd / sqrt(n).
TEST(LogMedianError, IsThatOfTheoryForNormalSamples) {
  RunSimulator simulator({}, 11);
  double mean = 0.0;
  constexpr int kSeries = 400;
  for (int series = 0; series < kSeries; ++series) {
    std::vector<double> samples;
    samples.reserve(31);
    for (int i = 0; i < 31; ++i) samples.push_back(1.0 + 0.01 * simulator.normal());
    mean += statistics::log_median_error(samples) / kSeries;
  }
  EXPECT_NEAR(mean, 1.2533 * 0.01 / std::sqrt(31.0), 0.0004);
}

TEST(LogMedianError, SeesAClockThatWanders) {
  RunSimulator simulator({}, 12);
  std::vector<double> steady;
  std::vector<double> wandering;
  for (int i = 0; i < 400; ++i) {
    const double jitter = 0.002 * simulator.normal();
    steady.push_back(1.0 + jitter);
    wandering.push_back(1.0 + jitter + (i / 50 % 2 == 0 ? 0.0 : 0.02));
  }
  EXPECT_LT(statistics::log_median_error(steady), 0.001);
  EXPECT_GT(statistics::log_median_error(wandering), 0.003);
}

// Kernels on an H200 have phases of some samples in which they take another time.
TEST(LogMedianError, IsNotMovedByOnePhaseOfTheRun) {
  RunSimulator simulator({}, 13);
  std::vector<double> samples;
  for (int i = 0; i < 400; ++i) {
    samples.push_back((i >= 100 && i < 150 ? 0.92 : 1.0) + 0.002 * simulator.normal());
  }
  EXPECT_LT(statistics::log_median_error(samples), 0.001);
}

}  // namespace
}  // namespace nf4bench
