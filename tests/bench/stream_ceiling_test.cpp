#include "bench/fake_run.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace nf4bench {
namespace {

using Kind = FakeCall::Kind;
using Names = std::vector<std::string>;

TEST(StreamCeiling, IsTheFastestShapeOfTheCell) {
  FakeRun bench({"slow", "fast"}, {"wide", "narrow", "bulk", "refused"});
  bench.device.take_seconds("slow", 3e-4);
  bench.device.take_seconds("fast", 2e-4);
  bench.device.take_seconds("wide", 1.6e-4);
  bench.device.take_seconds("narrow", 5e-4);
  bench.device.take_seconds("bulk", 1.5e-4);
  bench.device.script("refused").unsupported = "needs alignment";
  bench.run();
  ASSERT_EQ(bench.streams.size(), 1u);
  EXPECT_EQ(bench.streams[0].shape, "bulk");
  EXPECT_EQ(bench.streams[0].cell.tensor, "t0");
  EXPECT_DOUBLE_EQ(bench.streams[0].median_s, 1.5e-4);
  EXPECT_NEAR(bench.streams[0].bytes_per_s, 1312 / 1.5e-4, 1e-3);
  EXPECT_DOUBLE_EQ(*bench.row("fast").fraction_of_stream, 0.75);
  EXPECT_DOUBLE_EQ(*bench.row("slow").fraction_of_stream, 0.5);
  EXPECT_EQ(bench.rows.size(), 2u);
}

TEST(StreamCeiling, IsFoundFirstAndThenTimedAmongTheVariants) {
  FakeRun bench({"slow", "fast"}, {"wide", "narrow", "bulk"});
  bench.device.take_seconds("wide", 1.6e-4);
  bench.device.take_seconds("narrow", 5e-4);
  bench.device.take_seconds("bulk", 1.5e-4);
  bench.run();
  for (Names round : recorded_rounds(bench.device, 4, 10)) {
    std::ranges::sort(round);
    EXPECT_EQ(round, (Names{"bulk", "fast", "slow", "wide"}));
  }
}

TEST(StreamCeiling, ForgetsTheSamplesThatFoundIt) {
  FakeRun bench({"slow"}, {"wide"});
  bench.options.max_time_s = 0.0;  // three rounds, after five that found the shape
  bench.device.script("wide").seconds = [](const FakeCall& call) {
    return call.at_s < 0.05 ? 1e-4 : 1.5e-4;  // the warm-up lasts 50 ms
  };
  bench.run();
  ASSERT_EQ(bench.streams.size(), 1u);
  EXPECT_DOUBLE_EQ(bench.streams[0].median_s, 1.5e-4);
}

TEST(StreamCeiling, IsMeasuredForEachCell) {
  FakeRun bench({"slow"}, {"wide"});
  bench.options.caches = {record::CacheMode::kCold, record::CacheMode::kHot};
  bench.run({fake_source("a", 8), fake_source("b", 16)});
  EXPECT_EQ(bench.streams.size(), 4u);
}

TEST(StreamCeiling, IsLeftOutOnRequest) {
  FakeRun bench({"slow"}, {"wide"});
  bench.options.measure_stream_shapes = false;
  bench.run();
  EXPECT_TRUE(bench.streams.empty());
  for (const FakeCall& call : bench.device.calls) EXPECT_NE(call.variant, "wide");
}

TEST(StreamCeiling, IsNotVerified) {
  FakeRun bench({"slow"}, {"wide"});
  bench.run();
  for (const FakeCall& call : bench.device.calls_of(Kind::kVerify)) EXPECT_EQ(call.variant, "slow");
}

TEST(StreamCeiling, SurvivesAShapeThatFails) {
  FakeRun bench({"slow"}, {"wide", "broken"});
  bench.device.script("broken").device_error = [](const FakeCall&) { return "misaligned"; };
  bench.run();
  ASSERT_EQ(bench.streams.size(), 1u);
  EXPECT_EQ(bench.streams[0].shape, "wide");
  EXPECT_EQ(bench.row("slow").status, record::Status::kPassed);
}

}  // namespace
}  // namespace nf4bench
