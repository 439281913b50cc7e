// A variant measured against itself, on the fake device.

#include "doctor/aa_run.hpp"

#include "bench/fake_device.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace nf4bench {
namespace {

using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class AaRunTest : public testing::Test {
 protected:
  doctor::AaRun run() {
    return doctor::run_against_itself(
        device,
        {.operation = &operation,
         .variant = "fast",
         .shape = {8, 64},
         .runs = 3,
         .run_s = 0.01,
         .clock_s = [this] { return device.now_s; },
         .on_progress = [this](double done) { progress.push_back(done); }},
        interrupted);
  }

  FakeDevice device;
  operation::Operation operation = device.operation();
  std::atomic<bool> interrupted{false};
  std::vector<double> progress;
};

TEST_F(AaRunTest, HasTheMediansOfBothSidesOfEveryRunButTheFirst) {
  device.take_seconds("fast", 2e-5);
  const doctor::AaRun aa = run();
  EXPECT_THAT(aa.failure, IsEmpty());
  EXPECT_EQ(aa.variant, "fast");
  ASSERT_THAT(aa.runs, SizeIs(3));
  for (const doctor::AaPair& pair : aa.runs) {
    EXPECT_DOUBLE_EQ(pair.first_s, 2e-5);
    EXPECT_DOUBLE_EQ(pair.second_s, 2e-5);
  }
}

TEST_F(AaRunTest, ThrowsTheRunAwayThatWakesTheDevice) {
  const double woken_s = 0.1;
  device.script("fast").seconds = [&](const FakeCall& call) {
    return call.at_s < woken_s ? 9e-5 : 2e-5;
  };
  const doctor::AaRun aa = run();
  ASSERT_THAT(aa.runs, SizeIs(3));
  EXPECT_DOUBLE_EQ(aa.runs.front().first_s, 2e-5);
  EXPECT_DOUBLE_EQ(aa.runs.front().second_s, 2e-5);
}

TEST_F(AaRunTest, TimesNothingButTheVariant) {
  run();
  std::set<std::string> timed;
  for (const FakeCall& call : device.calls_of(FakeCall::Kind::kSample)) timed.insert(call.variant);
  EXPECT_EQ(timed, std::set<std::string>{"fast"});
}

TEST_F(AaRunTest, KeepsTheClockOfEverySample) {
  device.clock_hz = 1.7e9;
  const doctor::AaRun aa = run();
  EXPECT_GE(aa.sm_clock_hz.size(), 3u * 2u * 30u);
  EXPECT_THAT(aa.sm_clock_hz, Each(1.7e9));
}

TEST_F(AaRunTest, TellsHowFarItIs) {
  run();
  ASSERT_FALSE(progress.empty());
  EXPECT_TRUE(std::ranges::is_sorted(progress));
  EXPECT_DOUBLE_EQ(progress.back(), 1.0);
}

TEST_F(AaRunTest, SaysWhyAWrongVariantHasNoNoise) {
  device.script("fast").is_wrong = [](const FakeCall&) { return true; };
  const doctor::AaRun aa = run();
  EXPECT_THAT(aa.failure, HasSubstr("failed: "));
  EXPECT_THAT(aa.runs, IsEmpty());
}

TEST_F(AaRunTest, SaysWhyAnUnsupportedVariantHasNoNoise) {
  device.script("fast").unsupported = "needs a newer GPU";
  EXPECT_EQ(run().failure, "skipped: needs a newer GPU");
}

TEST_F(AaRunTest, StopsWhenInterrupted) {
  device.on_call = [this](const FakeCall& call) {
    if (call.kind == FakeCall::Kind::kSample && call.nth == 20) interrupted = true;
  };
  const doctor::AaRun aa = run();
  EXPECT_TRUE(aa.was_interrupted);
  EXPECT_LT(device.calls_of(FakeCall::Kind::kSample).size(), 30u);
}

}  // namespace
}  // namespace nf4bench
