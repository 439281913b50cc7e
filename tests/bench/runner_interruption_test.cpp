#include "bench/fake_run.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace nf4bench {
namespace {

using Kind = FakeCall::Kind;

// Sets the flag before call number `nth` (from 0) of this kind.
void interrupt_at(FakeRun& bench, Kind kind, int nth) {
  bench.device.on_call = [&bench, kind, nth, seen = 0](const FakeCall& call) mutable {
    if (call.kind == kind && seen++ == nth) bench.interrupted = true;
  };
}

int samples_of_a_cell(FakeRun& bench) {
  bench.run();
  return static_cast<int>(bench.device.calls_of(Kind::kSample).size());
}

TEST(Interruption, FinishesTheCellAtHandFromItsSamples) {
  FakeRun probe({"base", "fast"});
  const int all = samples_of_a_cell(probe);  // 10 rounds of 2
  FakeRun bench({"base", "fast"});
  bench.options.caches = {record::CacheMode::kCold, record::CacheMode::kHot};
  interrupt_at(bench, Kind::kSample, all - 9);  // in the sixth round
  const bench::RunOutcome outcome = bench.run({fake_source("a", 8), fake_source("b", 16)});
  EXPECT_TRUE(outcome.interrupted);
  EXPECT_EQ(outcome.tensors_verified, 1);  // all of it was compared before it was timed
  ASSERT_EQ(bench.rows.size(), 2u);        // the hot cell and the second tensor were not begun
  for (const record::Measurement& row : bench.rows) {
    EXPECT_EQ(row.status, record::Status::kPassed);
    EXPECT_EQ(row.cell.cache, record::CacheMode::kCold);
    EXPECT_EQ(row.stopped_by, record::StopReason::kInterrupted);
    EXPECT_GE(row.samples_s.size(), 5u);
    EXPECT_LE(row.samples_s.size(), 6u);
  }
  EXPECT_TRUE(bench.row("fast").speedup);
  EXPECT_EQ(bench.device.calls.back().kind, Kind::kVerify);  // still verified after timing
}

TEST(Interruption, PairsRoundsThatBothSidesHave) {
  for (int offset = 1; offset < 14; ++offset) {
    FakeRun probe({"base", "fast"});
    const int all = samples_of_a_cell(probe);
    FakeRun bench({"base", "fast"});
    bench.device.take_seconds("fast", 5e-6);
    bench.device.take_seconds("base", 1e-5);
    interrupt_at(bench, Kind::kSample, all - offset);
    bench.run();
    for (const record::Measurement& row : bench.rows) {
      ASSERT_TRUE(row.time_s);
      if (row.variant == "fast" && row.speedup) {
        EXPECT_DOUBLE_EQ(row.speedup->ratio, 2.0);
      }
    }
  }
}

TEST(Interruption, MakesNoRowOfFewerThanThreeSamples) {
  FakeRun probe({"base", "fast"});
  const int all = samples_of_a_cell(probe);
  FakeRun bench({"base", "fast"});
  interrupt_at(bench, Kind::kSample, all - 17);  // in the second round
  const bench::RunOutcome outcome = bench.run();
  EXPECT_TRUE(outcome.interrupted);
  EXPECT_EQ(outcome.measurements, 0);
  EXPECT_TRUE(bench.rows.empty());
}

TEST(Interruption, KeepsTheFailuresOfTheCellAtHand) {
  FakeRun bench({"base", "wrong"});
  bench.device.script("wrong").is_wrong = [](const FakeCall&) { return true; };
  interrupt_at(bench, Kind::kSample, 0);
  bench.run();
  ASSERT_EQ(bench.rows.size(), 1u);
  EXPECT_EQ(bench.rows[0].variant, "wrong");
  EXPECT_EQ(bench.rows[0].status, record::Status::kFailed);
}

TEST(Interruption, WhileVerifyingStopsAtOnce) {
  FakeRun bench({"base", "fast", "faster"});
  interrupt_at(bench, Kind::kVerify, 1);
  const bench::RunOutcome outcome = bench.run({fake_source("a"), fake_source("b")});
  EXPECT_TRUE(outcome.interrupted);
  EXPECT_EQ(outcome.tensors_verified, 0);
  EXPECT_EQ(bench.device.calls_of(Kind::kVerify).size(), 2u);
  EXPECT_TRUE(bench.device.calls_of(Kind::kSample).empty());
  EXPECT_TRUE(bench.rows.empty());
}

TEST(Interruption, BeforeTheStartDoesNothing) {
  FakeRun bench({"base"});
  bench.interrupted = true;
  const bench::RunOutcome outcome = bench.run();
  EXPECT_TRUE(outcome.interrupted);
  EXPECT_TRUE(bench.device.calls.empty());
}

TEST(Interruption, LeavesTheProgressUnfinished) {
  FakeRun bench({"base", "fast"});
  interrupt_at(bench, Kind::kSample, 20);
  bench.run();
  ASSERT_FALSE(bench.progress.empty());
  EXPECT_LT(bench.progress.back().first, 1.0);
}

TEST(RunProgress, NeverFallsAndEndsAtOne) {
  FakeRun bench({"base", "fast"});
  bench.options.caches = {record::CacheMode::kCold, record::CacheMode::kHot};
  bench.device.take_seconds("base", 2e-3);
  bench.device.take_seconds("fast", 1e-3);
  bench.run({fake_source("a", 8), fake_source("b", 16), fake_source("c", 8)});
  ASSERT_GT(bench.progress.size(), 6u);
  for (std::size_t i = 1; i < bench.progress.size(); ++i) {
    EXPECT_GE(bench.progress[i].first, bench.progress[i - 1].first);
  }
  EXPECT_EQ(bench.progress.back().first, 1.0);
}

TEST(RunProgress, SaysWhatIsGoingOn) {
  FakeRun bench({"base"});
  bench.run({fake_source("a"), fake_source("model.b")});
  std::vector<std::string> texts;
  for (const auto& [done, what] : bench.progress) texts.push_back(what);
  EXPECT_EQ(texts.front(), "t0 verify model.b");
  EXPECT_NE(std::ranges::find(texts, "t0 8x64 bfloat16 cold graph"), texts.end());
}

TEST(RunOfNothing, IsDone) {
  FakeRun bench({"base"});
  const bench::RunOutcome outcome = bench.run({});
  EXPECT_EQ(outcome.measurements, 0);
  EXPECT_FALSE(outcome.interrupted);
}

}  // namespace
}  // namespace nf4bench
