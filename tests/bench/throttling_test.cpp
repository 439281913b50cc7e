#include "record/throttling.hpp"

#include "bench/fake_run.hpp"

#include <gtest/gtest.h>

namespace nf4bench {
namespace {

record::Measurement row_with_clocks(std::vector<double> clocks_hz) {
  record::Measurement row;
  row.samples_s.assign(clocks_hz.size(), 1e-5);
  row.sm_clock_hz = std::move(clocks_hz);
  return row;
}

TEST(Throttling, CountsSamplesMoreThanFivePercentUnderTheHighestClock) {
  std::vector<record::Measurement> cell = {
      row_with_clocks({2.00e9, 1.99e9, 1.91e9, 1.89e9, 0.3e9})};
  record::mark_throttled(cell);
  EXPECT_EQ(cell[0].throttled_samples, 2);
  EXPECT_DOUBLE_EQ(record::throttled_share(cell[0]), 0.4);
  EXPECT_EQ(cell[0].samples_s.size(), 5u);
}

TEST(Throttling, HoldsEveryVariantToTheHighestClockOfItsCell) {
  std::vector<record::Measurement> cell = {row_with_clocks({2.0e9, 2.0e9}),
                                           row_with_clocks({1.7e9, 1.7e9})};
  record::mark_throttled(cell);
  EXPECT_EQ(cell[0].throttled_samples, 0);
  EXPECT_EQ(cell[1].throttled_samples, 2);
}

TEST(Throttling, IsUnknownWithoutClocks) {
  std::vector<record::Measurement> cell = {row_with_clocks({}), row_with_clocks({2.0e9, 1.0e9})};
  cell[0].samples_s = {1e-5, 1e-5};
  record::mark_throttled(cell);
  EXPECT_EQ(cell[0].throttled_samples, std::nullopt);
  EXPECT_EQ(record::throttled_share(cell[0]), 0.0);
  EXPECT_EQ(cell[1].throttled_samples, 1);
}

// Every fifth sample of one variant runs at a lower clock; ten samples in a row hold two of them.
TEST(Throttling, IsMarkedInTheRowsOfARun) {
  FakeRun bench;
  bench.device.on_call = [&](const FakeCall& call) {
    bench.device.clock_hz = call.variant == "fast" && call.nth % 5 == 4 ? 1.8e9 : 2.0e9;
  };
  bench.run();
  EXPECT_EQ(bench.row("slow").throttled_samples, 0);
  EXPECT_EQ(bench.row("fast").throttled_samples, 2);
  EXPECT_EQ(bench.row("fast").samples_s.size(), 10u);
  EXPECT_EQ(bench.row("fast").status, record::Status::kPassed);
}

// A steady clock of another cell is no reason to call this one throttled.
TEST(Throttling, JudgesEachCellByItself) {
  FakeRun bench;
  bench.options.caches = {record::CacheMode::kCold, record::CacheMode::kHot};
  bench.device.on_call = [&](const FakeCall& call) {
    bench.device.clock_hz = call.spec.cache == record::CacheMode::kHot ? 1.5e9 : 2.0e9;
  };
  bench.run();
  ASSERT_EQ(bench.rows.size(), 4u);
  for (const record::Measurement& row : bench.rows) EXPECT_EQ(row.throttled_samples, 0);
}

TEST(Throttling, IsUnknownOnADeviceWithoutClocks) {
  FakeRun bench;
  bench.run();
  for (const record::Measurement& row : bench.rows) EXPECT_EQ(row.throttled_samples, std::nullopt);
}

}  // namespace
}  // namespace nf4bench
