#include "compare/compare_reports.hpp"
#include "compare/report_maker.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace nf4bench {
namespace {

using compare::time_ratios;
using test::named_run;

const record::Report kBase = named_run("base", 0, {{"lut", 100e-6}, {"simd", 50e-6}}).report;

TEST(TimeRatios, HaveAMeanAndARange) {
  record::Report fresh = named_run("new", 1, {{"lut", 104e-6}, {"simd", 50e-6}}).report;
  for (record::Measurement& m : fresh.measurements) {
    for (double& clock : m.sm_clock_hz) clock *= 0.9;
  }
  const compare::TimeRatios ratios = time_ratios(kBase, fresh);
  EXPECT_EQ(ratios.cells, 2);
  EXPECT_NEAR(ratios.lowest, 1.0, 1e-9);
  EXPECT_NEAR(ratios.highest, 1.04, 1e-9);
  EXPECT_NEAR(ratios.mean, std::sqrt(1.04), 1e-9);
  ASSERT_TRUE(ratios.clock);
  EXPECT_NEAR(*ratios.clock, 0.9, 1e-9);
}

TEST(TimeRatios, LeaveOutWhatOneReportLacks) {
  const compare::TimeRatios ratios =
      time_ratios(kBase, named_run("new", 1, {{"lut", 104e-6}, {"fused", 1e-6}}).report);
  EXPECT_EQ(ratios.cells, 1);
  EXPECT_NEAR(ratios.mean, 1.04, 1e-9);
}

TEST(TimeRatios, AreNoneWithoutACellInCommon) {
  EXPECT_EQ(time_ratios(kBase, named_run("new", 1, {{"fused", 1e-6}}).report).cells, 0);
}

}  // namespace
}  // namespace nf4bench
