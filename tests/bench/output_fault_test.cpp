// What a variant left in the samples that were timed, and what becomes of one that left it wrong.

#include "bench/fake_run.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace nf4bench {
namespace {

using Kind = FakeCall::Kind;

const device::OutputFault kHalf = {
    .kind = device::FaultKind::kUnwritten,
    .set = 7,
    .sets = 115,
    .elements = 256,
    .found = {.compared = 512, .mismatches = 256, .first_mismatch = 1, .max_ulp = 1}};

device::OutputFault fault_of(device::FaultKind kind) {
  device::OutputFault fault = kHalf;
  fault.kind = kind;
  return fault;
}

// Which of the samples of `variant` were judged, in order.
std::vector<bool> judged(const FakeDevice& device, const std::string& variant) {
  std::vector<bool> found;
  for (const FakeCall& call : device.calls_of(Kind::kSample)) {
    if (call.variant == variant) found.push_back(call.is_judged);
  }
  return found;
}

std::vector<bool> judged_of_a_long_run() {
  FakeRun bench({"base", "fast"}, {"stream"});
  bench.options.min_samples = 1000;
  bench.options.max_time_s = 10.0;
  bench.run();
  for (const bool is_judged : judged(bench.device, "stream")) EXPECT_FALSE(is_judged);
  EXPECT_EQ(bench.device.expected_bytes, 2u * 1024u);
  return judged(bench.device, "fast");
}

TEST(TimedOutputs, AreJudgedAfterSomeSamplesThatNobodyCanTell) {
  const std::vector<bool> first = judged_of_a_long_run();
  const std::vector<bool> second = judged_of_a_long_run();
  ASSERT_GE(first.size(), 1000u);
  const auto share =
      static_cast<double>(std::ranges::count(first, true)) / static_cast<double>(first.size());
  EXPECT_GT(share, 1.0 / 16);
  EXPECT_LT(share, 1.0 / 4);
  EXPECT_NE(first, second);  // of one seed
}

TEST(TimedOutputs, AreCheckedAtTheEndOfEachCellForEachVariant) {
  FakeRun bench({"base", "fast"}, {"stream"});
  bench.options.caches = {record::CacheMode::kCold, record::CacheMode::kHot};
  bench.run();
  std::vector<std::string> checks;
  for (const FakeCall& call : bench.device.calls_of(Kind::kCheck)) {
    checks.push_back(std::string(to_string(call.spec.cache)) + " " + call.variant);
  }
  std::vector<std::string> expected;
  for (const char* const cache : {"cold", "hot"}) {
    for (int i = 0; i < 3; ++i) {  // after as many changes
      for (const char* const variant : {" base", " fast"}) {
        expected.push_back(std::string(cache) + variant);
      }
    }
  }
  EXPECT_EQ(checks, expected);
}

TEST(TimedOutputs, AreCheckedWhenTheRunIsInterrupted) {
  FakeRun whole({"base"});
  whole.run();
  const auto samples = static_cast<std::int64_t>(whole.device.calls_of(Kind::kSample).size());
  FakeRun bench({"base"});
  bench.device.on_call = [&bench, samples](const FakeCall& call) {
    if (call.kind == Kind::kSample && call.nth == samples - 3) bench.interrupted = true;
  };
  bench.run();
  ASSERT_EQ(bench.rows.size(), 1u);
  EXPECT_EQ(bench.rows[0].status, record::Status::kPassed);
  EXPECT_EQ(bench.device.calls_of(Kind::kCheck).size(), 1u);
}

TEST(TimedOutputs, ThatTheCheckFindsWrongFailTheCell) {
  FakeRun bench({"base", "cheats"});
  bench.options.caches = {record::CacheMode::kCold, record::CacheMode::kHot};
  bench.device.script("cheats").fault =
      [](const FakeCall& call) -> std::optional<device::OutputFault> {
    if (call.kind != Kind::kCheck || call.spec.cache == record::CacheMode::kHot) return {};
    return kHalf;
  };
  bench.run();
  ASSERT_EQ(bench.rows.size(), 4u);
  const record::Measurement& row = bench.rows[1];
  EXPECT_EQ(row.status, record::Status::kFailed);
  EXPECT_EQ(row.reason,
            "in a timed sample (cold graph, set 7 of 115): 256 of 512 elements are not written");
  EXPECT_TRUE(row.samples_s.empty());
  EXPECT_FALSE(row.time_s);
  EXPECT_FALSE(row.speedup);
  ASSERT_TRUE(row.verification);
  EXPECT_EQ(row.verification->mismatches, 256);
  EXPECT_EQ(bench.rows[0].status, record::Status::kPassed);
  EXPECT_EQ(bench.rows[3].status, record::Status::kPassed);
}

TEST(TimedOutputs, ThatASampleLeavesWrongEndTheTimingOfTheVariant) {
  FakeRun bench({"base", "cheats"});
  bench.options.min_samples = 500;
  bench.options.max_time_s = 10.0;
  bench.device.script("cheats").fault =
      [](const FakeCall& call) -> std::optional<device::OutputFault> {
    if (call.kind != Kind::kSample) return {};
    return fault_of(device::FaultKind::kForeign);
  };
  bench.run();
  EXPECT_EQ(bench.row("cheats").status, record::Status::kFailed);
  EXPECT_EQ(bench.row("cheats").reason,
            "in a timed sample (cold graph, set 7 of 115): 256 of 512 elements hold what belongs "
            "to another buffer set");
  EXPECT_LT(judged(bench.device, "cheats").size(), 400u);
  EXPECT_EQ(bench.row("base").samples_s.size(), 500u);
}

// A row says what was wrong in its own samples, though the variant is wrong afterwards, too.
TEST(TimedOutputs, ThatWereWrongAreTheReasonWhateverComesAfterTiming) {
  FakeRun bench({"base", "cheats"});
  bench.device.script("cheats").is_wrong = [](const FakeCall& call) { return call.nth > 0; };
  bench.device.script("cheats").fault = [](const FakeCall&) { return kHalf; };
  bench.run();
  EXPECT_EQ(bench.row("cheats").reason,
            "in a timed sample (cold graph, set 7 of 115): 256 of 512 elements are not written");
}

// What the check says is better known than what a sample said.
TEST(TimedOutputs, ThatASampleLeavesWrongAreLookedInto) {
  FakeRun bench({"base", "cheats"});
  bench.options.min_samples = 500;
  bench.options.max_time_s = 10.0;
  bench.device.script("cheats").fault = [](const FakeCall& call) {
    return fault_of(call.kind == Kind::kCheck ? device::FaultKind::kLate
                                              : device::FaultKind::kUnwritten);
  };
  bench.run();
  EXPECT_EQ(bench.row("cheats").reason,
            "in a timed sample (cold graph, set 7 of 115): 256 of 512 elements are right only "
            "after the sample has ended: they are written late, on another stream or thread");
}

TEST(TimedOutputs, OfEachKindSayWhatIsWrong) {
  const std::vector<std::pair<device::FaultKind, std::string>> kinds = {
      {device::FaultKind::kSkipped, "what is there already is skipped"},
      {device::FaultKind::kStray,
       "the output of this set was written, though no call was given it"},
      {device::FaultKind::kWrong, "256 of 512 elements differ from the reference"}};
  for (const auto& [kind, words] : kinds) {
    FakeRun bench({"cheats"});
    bench.device.script("cheats").fault = [kind = kind](const FakeCall&) { return fault_of(kind); };
    bench.run();
    EXPECT_NE(bench.row("cheats").reason.find(words), std::string::npos)
        << bench.row("cheats").reason;
  }
}

TEST(TimedOutputs, CannotBeCheckedOnADeviceThatFails) {
  FakeRun bench({"base", "throws"});
  bench.device.script("throws").device_error = [](const FakeCall& call) -> std::string {
    return call.kind == Kind::kCheck ? "wrote past the end of its output" : "";
  };
  bench.run();
  EXPECT_EQ(bench.row("throws").status, record::Status::kFailed);
  EXPECT_EQ(bench.row("throws").reason, "wrote past the end of its output");
  EXPECT_EQ(bench.row("base").status, record::Status::kPassed);
}

}  // namespace
}  // namespace nf4bench
