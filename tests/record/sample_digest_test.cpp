#include "record/samples.hpp"
#include "statistics/statistics.hpp"

#include <gtest/gtest.h>

namespace nf4bench {
namespace {

record::Measurement timed() {
  record::Measurement m;
  m.samples_s = {1.0, 1.25, 1.5, 1.0, 1.75, 2.0, 1.5, 1.25};
  m.sm_clock_hz = {9e8, 1e9, 1e9, 1e9, 1e9, 1e9, 1e9, 1.9e9};
  m.throttled_samples = 2;
  return m;
}

TEST(SampleDigest, KeepsCountErrorAndClocks) {
  record::Measurement m = timed();
  const double error = statistics::log_median_error(m.samples_s);
  record::leave_out_samples(m);
  EXPECT_TRUE(m.samples_s.empty());
  EXPECT_TRUE(m.sm_clock_hz.empty());
  ASSERT_TRUE(m.digest);
  EXPECT_EQ(m.digest->count, 8);
  EXPECT_EQ(m.digest->log_error, error);
  EXPECT_EQ(m.digest->mean_clock_hz, 1.1e9);
  EXPECT_EQ(m.digest->median_clock_hz, 1e9);
}

TEST(SampleDigest, AnswersForSamplesThatAreGone) {
  record::Measurement m = timed();
  record::leave_out_samples(m);
  EXPECT_EQ(record::sample_count(m), 8);
  EXPECT_EQ(record::mean_clock_hz(m), 1.1e9);
  EXPECT_DOUBLE_EQ(record::throttled_share(m), 0.25);
  record::leave_out_samples(m);
  EXPECT_EQ(m.digest->count, 8);
}

TEST(SampleDigest, UnknownClocksStayUnknown) {
  record::Measurement m = timed();
  m.sm_clock_hz.clear();
  record::leave_out_samples(m);
  EXPECT_FALSE(m.digest->mean_clock_hz);
  EXPECT_FALSE(m.digest->median_clock_hz);
}

TEST(SampleDigest, KeepsSamplesThatShowAFault) {
  record::Measurement m = timed();
  m.samples_s[3] = 0.0;
  record::leave_out_samples(m);
  EXPECT_EQ(m.samples_s.size(), 8u);
  EXPECT_FALSE(m.digest);
}

TEST(SampleDigest, NothingIsKeptOfNoSamples) {
  record::Measurement m;
  record::leave_out_samples(m);
  EXPECT_FALSE(m.digest);
}

}  // namespace
}  // namespace nf4bench
