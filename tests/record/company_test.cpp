#include "record/samples.hpp"

#include <gtest/gtest.h>

namespace nf4bench::record {
namespace {

Measurement measured(double company_s, double alone_s, double half_width) {
  Measurement m;
  m.time_s = statistics::Summary{
      .median = company_s,
      .ci95 = statistics::Interval{company_s * (1.0 - half_width), company_s * (1.0 + half_width)}};
  m.alone = Alone{
      .median_s = alone_s,
      .ci95 = statistics::Interval{alone_s * (1.0 - half_width), alone_s * (1.0 + half_width)}};
  return m;
}

TEST(Company, CostsWhatTheMedianAloneLacks) {
  EXPECT_NEAR(cost_of_company(measured(7.1e-6, 5.8e-6, 0.001)), 0.224, 0.001);
  EXPECT_NEAR(cost_of_company(measured(5.8e-6, 7.1e-6, 0.001)), -0.183, 0.001);
}

TEST(Company, MattersBeyondOnePercentEitherWay) {
  EXPECT_TRUE(depends_on_company(measured(1.011, 1.0, 0.001)));
  EXPECT_TRUE(depends_on_company(measured(1.0, 1.011, 0.001)));
  EXPECT_FALSE(depends_on_company(measured(1.009, 1.0, 0.001)));
  EXPECT_FALSE(depends_on_company(measured(1.0, 1.009, 0.001)));
}

TEST(Company, DoesNotMatterWhereIntervalsMeet) {
  EXPECT_FALSE(depends_on_company(measured(1.05, 1.0, 0.03)));
  EXPECT_TRUE(depends_on_company(measured(1.05, 1.0, 0.02)));
}

// The same, with the clocks (Hz) of both sides; 0 is unknown.
Measurement clocked(Measurement m, double company_hz, double alone_hz) {
  if (company_hz > 0.0) m.sm_clock_hz = {company_hz - 5e6, company_hz + 5e6};
  if (alone_hz > 0.0) m.alone->sm_clock_hz = alone_hz;
  return m;
}

TEST(Company, DoesNotMatterWhereTheClockHasChanged) {
  EXPECT_FALSE(depends_on_company(clocked(measured(1.015, 1.0, 0.001), 1.95e9, 1.98e9)));
  EXPECT_FALSE(depends_on_company(clocked(measured(1.0, 1.015, 0.001), 1.98e9, 1.95e9)));
  Measurement without_samples = clocked(measured(1.015, 1.0, 0.001), 1.95e9, 1.98e9);
  without_samples.digest = SampleDigest{.count = 2, .mean_clock_hz = 1.95e9};
  without_samples.sm_clock_hz = {};
  EXPECT_FALSE(depends_on_company(without_samples));
}

TEST(Company, MattersWhereTheClockDoesNotExplainIt) {
  const Measurement slower = measured(1.015, 1.0, 0.001);
  EXPECT_TRUE(depends_on_company(clocked(slower, 1.98e9, 1.98e9)));
  EXPECT_TRUE(depends_on_company(clocked(slower, 1.98e9, 1.95e9)));  // the wrong way
  EXPECT_TRUE(depends_on_company(clocked(measured(1.04, 1.0, 0.001), 1.95e9, 1.98e9)));
}

TEST(Company, TakesNoClockForTheOtherSides) {
  const Measurement slower = measured(1.015, 1.0, 0.001);
  EXPECT_TRUE(depends_on_company(clocked(slower, 1.95e9, 0.0)));
  EXPECT_TRUE(depends_on_company(clocked(slower, 0.0, 1.98e9)));
}

TEST(Company, IsNotKnownToMatterWithoutAMeasurementAlone) {
  Measurement m = measured(2.0, 1.0, 0.001);
  m.alone.reset();
  EXPECT_FALSE(depends_on_company(m));
  EXPECT_EQ(cost_of_company(m), 0.0);
}

}  // namespace
}  // namespace nf4bench::record
