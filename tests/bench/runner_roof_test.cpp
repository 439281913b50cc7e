#include "bench/fake_run.hpp"

#include <gtest/gtest.h>

namespace nf4bench {
namespace {

// Calls of a millisecond with 4096 flops, on a fake device that moves 1 GB/s.
struct RoofRun : FakeRun {
  explicit RoofRun(double flops_per_s) : FakeRun({"base"}) {
    device.take_seconds("base", 1e-3);
    ceilings.flops_per_s = {{nf4::OutputType::kBfloat16, flops_per_s}};
  }
};

TEST(Roof, IsThatOfTheMemoryWhereBytesTakeLonger) {
  RoofRun bench(1e12);
  bench.device.flops = 4096.0;
  bench.run();
  const record::Measurement row = bench.row("base");
  ASSERT_TRUE(row.roof);
  EXPECT_EQ(row.roof->limit, record::RoofLimit::kMemory);
  const auto bytes = static_cast<double>(row.bytes_read + row.bytes_written);
  EXPECT_DOUBLE_EQ(row.roof->fraction, bytes / 1e9 / 1e-3);
  EXPECT_DOUBLE_EQ(*row.flops_per_s, 4096.0 / 1e-3);
}

TEST(Roof, IsThatOfArithmeticWhereFlopsTakeLonger) {
  RoofRun bench(8192e3);  // half of the millisecond
  bench.device.flops = 4096.0;
  bench.run();
  const record::Measurement row = bench.row("base");
  ASSERT_TRUE(row.roof);
  EXPECT_EQ(row.roof->limit, record::RoofLimit::kCompute);
  EXPECT_DOUBLE_EQ(row.roof->fraction, 0.5);
}

// It is held to the bytes that it reads itself.
TEST(Roof, OfAReferenceLineCountsWhatWasPrepared) {
  RoofRun bench(1e12);
  bench.device.flops = 4096.0;
  kernels::Variant& resident = bench.device.variant("base");
  resident.traits.reference_line = true;
  resident.prepare = [](const kernels::Job&, const kernels::Launch&) {};
  resident.prepared_bytes = [](const kernels::Problem& problem) {
    return static_cast<std::size_t>(2 * problem.elements);
  };
  bench.run();
  const record::Measurement row = bench.row("base");
  EXPECT_TRUE(row.reference_line);
  EXPECT_EQ(row.bytes_read, 2 * 8 * 64);
  ASSERT_TRUE(row.roof);
  EXPECT_DOUBLE_EQ(row.roof->fraction,
                   static_cast<double>(row.bytes_read + row.bytes_written) / 1e9 / 1e-3);
}

TEST(Roof, IsUnknownWithoutARateOrWithoutFlops) {
  RoofRun no_flops(1e12);
  no_flops.run();
  EXPECT_FALSE(no_flops.row("base").roof);
  EXPECT_FALSE(no_flops.row("base").flops_per_s);
  RoofRun no_rate(1e12);
  no_rate.device.flops = 4096.0;
  no_rate.ceilings.flops_per_s.clear();
  no_rate.run();
  EXPECT_FALSE(no_rate.row("base").roof);
  EXPECT_TRUE(no_rate.row("base").flops_per_s);
  RoofRun no_copy(1e12);
  no_copy.device.flops = 4096.0;
  no_copy.ceilings.copy_bytes_per_s = 0.0;
  no_copy.run();
  EXPECT_FALSE(no_copy.row("base").roof);
}

}  // namespace
}  // namespace nf4bench
