#include "report/report.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace nf4bench {
namespace {

// One passed measurement: `median_s`, and the speedup to the variant "base".
record::Measurement row(const std::string& tensor, const std::string& variant, double median_s,
                        double ratio) {
  record::Measurement m;
  m.cell.operation = "dequantize";
  m.cell.tensor = tensor;
  m.variant = variant;
  m.status = record::Status::kPassed;
  m.time_s.emplace().median = median_s;
  m.time_s->ci95 = statistics::Interval{median_s, median_s};
  m.speedup = record::Speedup{"base", ratio, {{ratio, ratio}}};
  return m;
}

// Two geometries, of which the model has 3 and 5 tensors.
record::Report two_geometries() {
  record::Report report;
  report.complete = true;
  report.settings.baseline = "base";
  report.tensors.resize(2);
  report.tensors[0].id = "t0";
  report.tensors[0].multiplicity = 3;
  report.tensors[1].id = "t1";
  report.tensors[1].multiplicity = 5;
  report.measurements = {row("t0", "base", 8.0, 1.0), row("t0", "fast", 4.0, 2.0),
                         row("t1", "base", 24.0, 1.0), row("t1", "fast", 3.0, 8.0)};
  return report;
}

const record::VariantSummary& find(const std::vector<record::VariantSummary>& all,
                                   const std::string& variant) {
  return *std::ranges::find(all, variant, &record::VariantSummary::variant);
}

TEST(Summary, TakesTheGeometricMeanOfSpeedups) {
  const auto all = report::summarize_variants(two_geometries());
  ASSERT_EQ(all.size(), 2U);
  const record::VariantSummary& fast = find(all, "fast");
  EXPECT_EQ(fast.cells, 2);
  EXPECT_NEAR(*fast.speedup_geomean, 4.0, 1e-12);  // sqrt(2 * 8), through logarithms
  EXPECT_EQ(fast.speedup_min, 2.0);
  EXPECT_EQ(fast.speedup_max, 8.0);
}

TEST(Summary, AddsUpTheEnergyOfTheModelWhereAllIsKnown) {
  record::Report report = two_geometries();
  for (record::Measurement& m : report.measurements) {
    m.energy = record::Energy{.joules = 100.0 * m.time_s->median};
  }
  EXPECT_NEAR(*find(report::summarize_variants(report), "fast").model_energy_j,
              100.0 * (3 * 4.0 + 5 * 3.0), 1e-9);
  report.measurements[3].energy = record::Energy{.unavailable = "no counter"};
  const auto all = report::summarize_variants(report);
  EXPECT_FALSE(find(all, "fast").model_energy_j);
  EXPECT_TRUE(find(all, "fast").model_time_s);
  EXPECT_TRUE(find(all, "base").model_energy_j);
}

TEST(Summary, IsInDoubtWhenATimeInItIs) {
  record::Report report = two_geometries();
  report.measurements[3].time_s->ci95.reset();
  const auto all = report::summarize_variants(report);
  EXPECT_TRUE(find(all, "fast").in_doubt);
  EXPECT_FALSE(find(all, "base").in_doubt);
}

TEST(Summary, CountsEachTensorOfTheModel) {
  const auto all = report::summarize_variants(two_geometries());
  EXPECT_EQ(find(all, "base").model_time_s, 3 * 8.0 + 5 * 24.0);
  EXPECT_EQ(find(all, "fast").model_time_s, 3 * 4.0 + 5 * 3.0);
  EXPECT_EQ(find(all, "base").model_speedup, 1.0);
  EXPECT_EQ(find(all, "fast").model_speedup, 144.0 / 27.0);
}

TEST(Summary, HasNoModelTimeWhenATensorDidNotPass) {
  for (const record::Status status :
       {record::Status::kFailed, record::Status::kSkipped, record::Status::kInvalid}) {
    record::Report report = two_geometries();
    report.measurements[3].status = status;
    const auto all = report::summarize_variants(report);
    EXPECT_EQ(find(all, "fast").model_time_s, std::nullopt);
    EXPECT_EQ(find(all, "fast").model_speedup, std::nullopt);
    EXPECT_EQ(find(all, "fast").cells, 1);
    EXPECT_EQ(find(all, "fast").speedup_max, 2.0);
    EXPECT_TRUE(find(all, "base").model_time_s);
  }
}

TEST(Summary, HasNoModelTimeWhenAVariantMissedATensor) {
  record::Report report = two_geometries();
  report.measurements.pop_back();
  EXPECT_EQ(find(report::summarize_variants(report), "fast").model_time_s, std::nullopt);
}

TEST(Summary, HasNoModelTimeForAnUnfinishedRun) {
  record::Report report = two_geometries();
  report.complete = false;
  const auto all = report::summarize_variants(report);
  EXPECT_EQ(find(all, "base").model_time_s, std::nullopt);
  EXPECT_TRUE(find(all, "fast").speedup_geomean);
}

TEST(Summary, HasNoModelSpeedupWithoutTheBaseline) {
  record::Report report = two_geometries();
  report.measurements[0].status = record::Status::kFailed;
  const auto all = report::summarize_variants(report);
  EXPECT_TRUE(find(all, "fast").model_time_s);
  EXPECT_EQ(find(all, "fast").model_speedup, std::nullopt);
}

TEST(Summary, HasNoSpeedupWhereNoneWasMeasured) {
  record::Report report = two_geometries();
  for (record::Measurement& m : report.measurements) m.speedup.reset();
  const auto all = report::summarize_variants(report);
  EXPECT_EQ(find(all, "fast").speedup_geomean, std::nullopt);
  EXPECT_EQ(find(all, "fast").speedup_min, std::nullopt);
  EXPECT_TRUE(find(all, "fast").model_time_s);
}

TEST(Summary, KeepsOutputTypesCachesAndLaunchesApart) {
  record::Report report = two_geometries();
  report.measurements[2].cell.cache = record::CacheMode::kHot;
  report.measurements[3].cell.cache = record::CacheMode::kHot;
  const auto all = report::summarize_variants(report);
  ASSERT_EQ(all.size(), 4U);
  EXPECT_EQ(all[0].model_time_s, 24.0);  // the cold cell consists of t0 alone
  EXPECT_EQ(all[2].cell.cache, record::CacheMode::kHot);
  EXPECT_EQ(all[2].model_time_s, 120.0);
  report.measurements[2].cell.output_type = nf4::OutputType::kFloat32;
  report.measurements[3].cell.launch = record::LaunchMode::kStream;
  EXPECT_EQ(report::summarize_variants(report).size(), 4U);
}

TEST(Summary, CountsATensorOnce) {
  record::Report report = two_geometries();
  report.measurements.push_back(report.measurements[3]);  // the same row twice
  EXPECT_EQ(find(report::summarize_variants(report), "fast").model_time_s, 27.0);
}

TEST(Summary, OfAnEmptyReportIsEmpty) {
  EXPECT_TRUE(report::summarize_variants(record::Report()).empty());
}

}  // namespace
}  // namespace nf4bench
