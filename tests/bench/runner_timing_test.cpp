#include "bench/fake_run.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace nf4bench {
namespace {

using Kind = FakeCall::Kind;
using Names = std::vector<std::string>;

TEST(Runner, ReportsASpeedupWithItsTimes) {
  FakeRun bench;
  bench.device.take_seconds("slow", 3e-4);
  bench.device.take_seconds("fast", 2e-4);
  bench.device.clock_hz = 1.5e9;
  const bench::RunOutcome outcome = bench.run();

  EXPECT_EQ(outcome.measurements, 2);
  EXPECT_EQ(outcome.tensors_verified, 1);
  EXPECT_FALSE(outcome.interrupted);
  ASSERT_EQ(bench.rows.size(), 2u);
  const record::Measurement slow = bench.row("slow");
  const record::Measurement fast = bench.row("fast");
  EXPECT_EQ(fast.status, record::Status::kPassed);
  EXPECT_EQ(fast.cell.tensor, "t0");
  EXPECT_EQ(fast.cell.device, "fake");
  EXPECT_EQ(fast.cell.output_type, nf4::OutputType::kBfloat16);
  EXPECT_EQ(fast.cell.cache, record::CacheMode::kCold);
  EXPECT_EQ(fast.cell.launch, record::LaunchMode::kGraph);
  EXPECT_TRUE(fast.reason.empty());
  ASSERT_TRUE(fast.verification);
  EXPECT_EQ(fast.verification->compared, 512);
  EXPECT_TRUE(fast.verification->passed());
  ASSERT_TRUE(fast.time_s);
  EXPECT_DOUBLE_EQ(fast.time_s->median, 2e-4);
  EXPECT_EQ(fast.samples_s.size(), 10u);
  EXPECT_EQ(fast.sm_clock_hz, std::vector<double>(10, 1.5e9));
  EXPECT_EQ(fast.launches_per_sample, 1);
  EXPECT_EQ(fast.stopped_by, record::StopReason::kPrecision);
  EXPECT_EQ(fast.bytes_read, 256 + 8 * 4);  // packed nibbles and one float for each block
  EXPECT_EQ(fast.bytes_written, 1024);
  EXPECT_NEAR(*fast.bytes_per_s, (256 + 32 + 1024) / 2e-4, 1e-3);
  EXPECT_NEAR(*fast.fraction_of_copy, (256 + 32 + 1024) / 2e-4 / 1e9, 1e-12);
  EXPECT_FALSE(fast.fraction_of_stream);
  ASSERT_TRUE(fast.speedup);
  EXPECT_EQ(fast.speedup->baseline, "slow");
  EXPECT_DOUBLE_EQ(fast.speedup->ratio, 1.5);
  ASSERT_TRUE(slow.speedup);
  EXPECT_EQ(slow.speedup->ratio, 1.0);
  EXPECT_EQ(slow.speedup->ci95->low, 1.0);
  EXPECT_EQ(slow.speedup->ci95->high, 1.0);
}

TEST(Runner, OrdersRowsByTensorTypeCacheLaunchAndVariant) {
  FakeRun bench;
  bench.options.output_types = {nf4::OutputType::kFloat32, nf4::OutputType::kFloat16};
  bench.options.caches = {record::CacheMode::kHot, record::CacheMode::kCold};
  bench.options.launches = {record::LaunchMode::kStream, record::LaunchMode::kGraph};
  bench.run({fake_source("a", 8), fake_source("b", 16)});
  Names found;
  for (const record::Measurement& row : bench.rows) {
    found.push_back(row.cell.tensor + " " + to_string(row.cell.output_type) + " " +
                    to_string(row.cell.cache) + " " + to_string(row.cell.launch) + " " +
                    row.variant);
  }
  Names wanted;
  for (const std::string tensor : {"t0", "t1"}) {
    for (const std::string type : {"float32", "float16"}) {
      for (const std::string cache : {"hot", "cold"}) {
        for (const std::string launch : {"stream", "graph"}) {
          for (const std::string variant : {"slow", "fast"}) {
            wanted.push_back(tensor + " " + type + " " + cache + " " + launch + " " + variant);
          }
        }
      }
    }
  }
  EXPECT_EQ(found, wanted);
}

TEST(Runner, LoadsATensorOnceAndKeepsOneWorkloadAlive) {
  FakeRun bench;
  bench.options.output_types = {nf4::OutputType::kFloat32, nf4::OutputType::kFloat16};
  std::map<std::string, int> loads;
  std::vector<plan::TensorSource> sources = {fake_source("a", 8), fake_source("b", 16),
                                             fake_source("c", 8)};
  for (plan::TensorSource& source : sources) {
    source.load = [&loads, load = source.load, name = source.name] {
      ++loads[name];
      return load();
    };
  }
  bench.run(sources);
  EXPECT_EQ(loads, (std::map<std::string, int>{{"a", 1}, {"b", 1}, {"c", 1}}));
  EXPECT_EQ(bench.device.most_workloads_alive, 1);
  EXPECT_EQ(bench.device.workloads_alive, 0);
}

TEST(Runner, GivesEveryContenderATurnInEveryRound) {
  FakeRun bench({"a", "b", "c", "d"});
  bench.options.min_samples = 16;
  bench.run();
  for (Names round : recorded_rounds(bench.device, 4, 16)) {
    std::ranges::sort(round);
    EXPECT_EQ(round, (Names{"a", "b", "c", "d"}));
  }
}

TEST(Runner, RotatesWhoGoesFirst) {
  FakeRun bench({"a", "b", "c", "d"});
  bench.options.min_samples = 16;
  bench.run();
  std::map<std::string, int> firsts;
  for (const Names& round : recorded_rounds(bench.device, 4, 16)) ++firsts[round.front()];
  EXPECT_EQ(firsts, (std::map<std::string, int>{{"a", 4}, {"b", 4}, {"c", 4}, {"d", 4}}));
}

TEST(Runner, OrdersRoundsBySeed) {
  const auto rounds = [](std::uint64_t seed) {
    FakeRun bench({"a", "b", "c", "d"});
    bench.options.seed = seed;
    bench.run();
    return recorded_rounds(bench.device, 4, 10);
  };
  EXPECT_EQ(rounds(1), rounds(1));
  EXPECT_NE(rounds(1), rounds(2));
}

// The clock falls so fast that the same kernel takes thrice as long at the end. Timed one after the
// other, the second of two equal variants would look far slower; paired rounds see them equal.
TEST(Runner, FindsTrueRatiosUnderALinearClockDrift) {
  FakeRun bench({"slow", "fast", "same"});
  const auto drifting = [&](double seconds) {
    return [seconds](const FakeCall& call) { return seconds * (1.0 + 20.0 * call.at_s); };
  };
  bench.device.script("slow").seconds = drifting(3e-4);
  bench.device.script("fast").seconds = drifting(2e-4);
  bench.device.script("same").seconds = drifting(3e-4);
  bench.options.min_samples = 100;
  bench.run();
  const record::Measurement slow = bench.row("slow");
  ASSERT_TRUE(slow.time_s);
  EXPECT_GT(slow.samples_s.back(), 2.0 * slow.samples_s.front());  // sequential would be fooled
  const record::Measurement fast = bench.row("fast");
  const record::Measurement same = bench.row("same");
  ASSERT_TRUE(fast.speedup && same.speedup);
  EXPECT_NEAR(fast.speedup->ratio, 1.5, 0.015);
  EXPECT_NEAR(same.speedup->ratio, 1.0, 0.01);
  EXPECT_LE(same.speedup->ci95->low, 1.0);
  EXPECT_GE(same.speedup->ci95->high, 1.0);
}

TEST(Runner, BatchesShortCallsPerVariant) {
  FakeRun bench;
  bench.device.take_seconds("slow", 2e-4);
  bench.device.take_seconds("fast", 5e-6);
  bench.options.min_sample_s = 1e-4;
  bench.run();
  EXPECT_EQ(bench.row("slow").launches_per_sample, 1);
  EXPECT_GE(bench.row("fast").launches_per_sample, 20);
  EXPECT_LE(bench.row("fast").launches_per_sample, 40);
  for (const FakeCall& call : bench.device.calls_of(Kind::kSample)) {
    if (call.variant == "slow") {
      EXPECT_EQ(call.spec.launches, 1);
    }
  }
}

TEST(Runner, ReplaysColdGraphsInMultiplesOfTheBufferSets) {
  FakeRun bench;
  bench.device.buffer_sets = 7;
  bench.device.take_seconds("slow", 2e-4);
  bench.device.take_seconds("fast", 5e-6);
  bench.options.caches = {record::CacheMode::kCold, record::CacheMode::kHot};
  bench.device.modes.push_back(record::LaunchMode::kSpaced);
  bench.options.launches = bench.device.modes;
  bench.run();
  ASSERT_EQ(bench.rows.size(), 12u);
  for (const record::Measurement& row : bench.rows) {
    const bool is_cold_graph = row.cell.cache == record::CacheMode::kCold &&
                               row.cell.launch != record::LaunchMode::kStream;
    if (is_cold_graph) {
      EXPECT_EQ(row.launches_per_sample % 7, 0);
    }
    if (!is_cold_graph && row.variant == "slow") {
      EXPECT_EQ(row.launches_per_sample, 1);
    }
  }
}

TEST(Runner, ThrowsAwayTheFirstMillisecondsOfACell) {
  FakeRun bench;
  // Clocks are low for the first 40 ms.
  const auto ramping = [](const FakeCall& call) { return call.at_s < 0.04 ? 9e-4 : 3e-4; };
  bench.device.script("slow").seconds = ramping;
  bench.device.script("fast").seconds = ramping;
  bench.run();
  for (const record::Measurement& row : bench.rows) {
    EXPECT_EQ(*std::ranges::max_element(row.samples_s), 3e-4);
  }
}

TEST(Runner, RestsBetweenSamples) {
  FakeRun bench;
  bench.run();
  EXPECT_EQ(bench.rested_s, 0.0);
  FakeRun resting;
  resting.options.duty = 0.25;
  resting.run();
  EXPECT_NEAR(resting.rested_s / resting.device.now_s, 0.75, 0.01);
  EXPECT_EQ(resting.row("fast").samples_s, bench.row("fast").samples_s);
  EXPECT_GT(resting.rested_s, 0.0);
}

TEST(Runner, RunsAVariantAgainstItself) {
  FakeRun bench({"slow", "fast"});
  bench.run({fake_source("a")}, {"slow", "slow"});
  const record::Measurement again = bench.row("slow#2");
  ASSERT_TRUE(again.speedup);
  EXPECT_EQ(again.speedup->baseline, "slow");
  EXPECT_EQ(again.speedup->ratio, 1.0);
  EXPECT_EQ(again.samples_s.size(), bench.row("slow").samples_s.size());
}

TEST(Runner, GivesNoSpeedupWithoutTheBaseline) {
  FakeRun bench;
  bench.options.baseline = "another";
  bench.run();
  for (const record::Measurement& row : bench.rows) {
    EXPECT_EQ(row.status, record::Status::kPassed);
    EXPECT_FALSE(row.speedup);
  }
}

TEST(Runner, UsesTheFirstLaunchModeByDefault) {
  FakeRun bench;
  bench.device.modes = {record::LaunchMode::kStream};
  bench.run();
  EXPECT_EQ(bench.row("fast").cell.launch, record::LaunchMode::kStream);
  EXPECT_EQ(bench.row("fast").status, record::Status::kPassed);
}

TEST(Runner, KeepsNoClocksWhereSomeAreUnknown) {
  FakeRun bench;
  int samples = 0;
  bench.device.on_call = [&](const FakeCall& call) {
    if (call.kind != Kind::kSample) return;
    bench.device.clock_hz = ++samples % 9 == 0 ? std::nullopt : std::optional(1e9);
  };
  bench.run();
  for (const record::Measurement& row : bench.rows) {
    EXPECT_EQ(row.status, record::Status::kPassed);
    EXPECT_TRUE(row.sm_clock_hz.empty());
  }
}

TEST(BufferSets, AreManyOnlyWhenASampleIsCold) {
  FakeRun hot;
  hot.options.caches = {record::CacheMode::kHot};
  hot.run();
  EXPECT_EQ(hot.device.calls.at(0).purpose, device::UploadPurpose::kTimeHot);
  FakeRun both;
  both.options.caches = {record::CacheMode::kHot, record::CacheMode::kCold};
  both.run();
  EXPECT_EQ(both.device.calls.at(0).purpose, device::UploadPurpose::kTime);
}

}  // namespace
}  // namespace nf4bench
