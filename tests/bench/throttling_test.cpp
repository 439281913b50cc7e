#include "bench/fake_run.hpp"
#include "record/samples.hpp"

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
  record::Measurement row = row_with_clocks({2.00e9, 1.99e9, 1.91e9, 1.89e9, 0.3e9});
  record::mark_throttled(row);
  EXPECT_EQ(row.throttled_samples, 2);
  EXPECT_DOUBLE_EQ(record::throttled_share(row), 0.4);
  EXPECT_EQ(row.samples_s.size(), 5u);
}

TEST(Throttling, IsUnknownWithoutClocks) {
  record::Measurement row = row_with_clocks({});
  row.samples_s = {1e-5, 1e-5};
  record::mark_throttled(row);
  EXPECT_EQ(row.throttled_samples, std::nullopt);
  EXPECT_EQ(record::throttled_share(row), 0.0);
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

// A variant that keeps the tensor cores busy has a lower clock of its own.
TEST(Throttling, JudgesEachVariantByItself) {
  FakeRun bench;
  bench.device.on_call = [&](const FakeCall& call) {
    bench.device.clock_hz = call.variant == "fast" ? 1.5e9 : 2.0e9;
  };
  bench.run();
  for (const record::Measurement& row : bench.rows) EXPECT_EQ(row.throttled_samples, 0);
}

TEST(Throttling, IsUnknownOnADeviceWithoutClocks) {
  FakeRun bench;
  bench.run();
  for (const record::Measurement& row : bench.rows) EXPECT_EQ(row.throttled_samples, std::nullopt);
}

}  // namespace
}  // namespace nf4bench
