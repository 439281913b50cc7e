// When inputs change while a cell is timed.

#include "bench/fake_run.hpp"

#include <gtest/gtest.h>

#include <set>

namespace nf4bench {
namespace {

using Kind = FakeCall::Kind;

// A run of so many rounds in one cell.
struct LongRun : FakeRun {
  explicit LongRun(int rounds) {
    options.caches = {record::CacheMode::kCold};
    options.launches = {record::LaunchMode::kGraph};
    options.min_samples = rounds;
    options.max_time_s = 100.0;
  }
};

TEST(ChangingInputs, ChangeBeforeEachCellsChecks) {
  LongRun bench(10);
  bench.options.caches = {record::CacheMode::kCold, record::CacheMode::kHot};
  bench.run();
  const std::vector<FakeCall>& calls = bench.device.calls;
  int checks = 0;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (calls[i].kind != Kind::kCheck || calls[i - 1].kind == Kind::kCheck) continue;
    EXPECT_EQ(calls[i - 1].kind, Kind::kChange);
    ++checks;
  }
  EXPECT_EQ(checks, 2 * 3);
}

// Two contenders, and one change in eight rounds: sixteen samples.
TEST(ChangingInputs, ChangeNowAndThenBetweenSamples) {
  LongRun bench(800);
  bench.run();
  std::set<std::size_t> gaps;
  std::size_t changes = 0;
  std::size_t since = 0;
  for (const FakeCall& call : bench.device.calls) {
    if (call.kind == Kind::kSample) ++since;
    if (call.kind != Kind::kChange) continue;
    ++changes;
    gaps.insert(since);
    since = 0;
  }
  EXPECT_GT(changes, 50u);
  EXPECT_LT(changes, 200u);
  EXPECT_GT(gaps.size(), 10u) << "everybody could foresee them";
}

TEST(ChangingInputs, ChangeWhatOutputsAreHeldTo) {
  LongRun bench(10);
  bench.run();
  ASSERT_FALSE(bench.device.changes.empty());
  for (const device::ContentChange& change : bench.device.changes) {
    EXPECT_EQ(change.inputs.size(), 2u);  // codes and a scale
    ASSERT_EQ(change.outputs.size(), 1u);
    EXPECT_EQ(change.outputs.front().own_before.size(), 64 * 2u);
  }
  for (const record::Measurement& row : bench.rows) EXPECT_EQ(row.reason, "");
}

// Changes that cost much leave most of the time to samples.
TEST(ChangingInputs, ChangeSeldomWhereThatTakesLong) {
  LongRun bench(800);
  bench.device.change_s = 1.0;
  bench.run();
  const std::size_t changes = bench.device.calls_of(Kind::kChange).size();
  const double sampled_s = bench.device.now_s - static_cast<double>(changes);
  EXPECT_LE(static_cast<double>(changes), 2.0 + 0.2 * sampled_s);
}

}  // namespace
}  // namespace nf4bench
