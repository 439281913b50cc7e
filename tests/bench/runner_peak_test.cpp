#include "bench/fake_run.hpp"

#include <gtest/gtest.h>

namespace nf4bench {
namespace {

// 8 x 64 elements in bfloat16 move 1312 bytes a call.
struct PeakRun : FakeRun {
  PeakRun() : FakeRun({"base", "magic"}) {
    device.take_seconds("base", 1312e-6);   // 1 MB/s
    device.take_seconds("magic", 1000e-6);  // 1.3 MB/s
    device.mutable_info().peak_bytes_per_s = 1.2e6;
    device.mutable_info().l2_bytes = 1000;
    device.buffer_sets = 5;
  }
};

TEST(RateAbovePeak, IsInvalidInsteadOfFast) {
  PeakRun bench;
  bench.run();
  const record::Measurement magic = bench.row("magic");
  EXPECT_EQ(magic.status, record::Status::kInvalid);
  EXPECT_FALSE(magic.reason.empty());
  EXPECT_TRUE(magic.time_s);
  EXPECT_FALSE(magic.speedup);
  EXPECT_EQ(bench.row("base").status, record::Status::kPassed);
}

TEST(RateAbovePeak, OfTheBaselineLeavesNoSpeedup) {
  PeakRun bench;
  bench.options.baseline = "magic";
  bench.run();
  EXPECT_EQ(bench.row("base").status, record::Status::kPassed);
  EXPECT_FALSE(bench.row("base").speedup);
}

TEST(RateAbovePeak, IsAcceptedWithinTwoPercent) {
  PeakRun bench;
  bench.device.mutable_info().peak_bytes_per_s = 1.312e6 / 1.019;
  bench.run();
  EXPECT_EQ(bench.row("magic").status, record::Status::kPassed);
  PeakRun beyond;
  beyond.device.mutable_info().peak_bytes_per_s = 1.312e6 / 1.021;
  beyond.run();
  EXPECT_EQ(beyond.row("magic").status, record::Status::kInvalid);
}

TEST(RateAbovePeak, IsPossibleFromTheCache) {
  PeakRun hot;
  hot.options.caches = {record::CacheMode::kHot};
  hot.run();
  EXPECT_EQ(hot.row("magic").status, record::Status::kPassed);
  PeakRun small;
  small.device.mutable_info().l2_bytes = 1312 * 5 / 4 + 1;  // a quarter of the working set
  small.run();
  EXPECT_EQ(small.row("magic").status, record::Status::kPassed);
}

TEST(RateAbovePeak, IsNotJudgedWhereThePeakIsUnknown) {
  PeakRun bench;
  bench.device.mutable_info().peak_bytes_per_s.reset();
  bench.run();
  EXPECT_EQ(bench.row("magic").status, record::Status::kPassed);
}

}  // namespace
}  // namespace nf4bench
