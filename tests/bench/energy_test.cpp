// What a call takes in joules, from the counter of the device.

#include "bench/fake_run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace nf4bench {
namespace {

using testing::HasSubstr;

// "slow" takes 200 us at 300 W, "fast" 10 us at 500 W.
struct EnergyRun : FakeRun {
  EnergyRun() {
    options.measure_energy = true;
    device.take_seconds("slow", 200e-6);
    device.take_seconds("fast", 10e-6);
    device.watts = {{"slow", 300.0}, {"fast", 500.0}};
  }
};

TEST(Energy, IsNotMeasuredUnlessAsked) {
  EnergyRun run;
  run.options.measure_energy = false;
  run.run();
  EXPECT_FALSE(run.row("slow").energy);
  EXPECT_EQ(run.device.calls_of(FakeCall::Kind::kRepeat).size(), 0u);
}

TEST(Energy, OfACallIsThatOfALongBatchOverItsCalls) {
  EnergyRun run;
  run.run();
  for (const auto& [variant, joules] : {std::pair("slow", 0.06), std::pair("fast", 0.005)}) {
    const record::Measurement row = run.row(variant);
    ASSERT_TRUE(row.energy) << variant;
    EXPECT_EQ(row.energy->unavailable, "") << variant;
    ASSERT_TRUE(row.energy->joules) << variant;
    EXPECT_NEAR(*row.energy->joules, joules, 0.03 * joules) << variant;
    EXPECT_NEAR(row.energy->power_w, run.device.watts[variant], 0.03 * run.device.watts[variant]);
    EXPECT_GE(row.energy->seconds, 1.0) << variant;
    EXPECT_GT(row.energy->calls, 1000) << variant;
    // Either end lies anywhere in a piece of 20 ms: two deviations of 1 / sqrt(12).
    const double pieces = row.energy->seconds / 0.02;
    EXPECT_NEAR(row.energy->error * pieces, std::sqrt(1.0 / 6.0), 0.01) << variant;
  }
}

// What ran before a batch is in the counter late: its last update was before the batch began.
TEST(Energy, CountsNothingThatRanBefore) {
  EnergyRun run;
  run.device.watts["slow"] = 10000.0;
  run.run();
  EXPECT_NEAR(*run.row("fast").energy->joules, 0.005, 0.03 * 0.005);
}

TEST(Energy, WithoutACounterTheRowSaysSo) {
  EnergyRun run;
  run.device.watts.clear();
  run.run();
  const record::Measurement row = run.row("fast");
  EXPECT_EQ(row.status, record::Status::kPassed);
  ASSERT_TRUE(row.energy);
  EXPECT_FALSE(row.energy->joules);
  EXPECT_THAT(row.energy->unavailable, HasSubstr("no energy counter"));
}

TEST(Energy, OfACounterThatStandsStillIsNotKnown) {
  EnergyRun run;
  run.device.watts = {{"slow", 0.0}, {"fast", 0.0}};
  run.run();
  EXPECT_FALSE(run.row("fast").energy->joules);
  EXPECT_THAT(run.row("fast").energy->unavailable, HasSubstr("did not move"));
}

TEST(Energy, OfSpacedLaunchesWouldBeThatOfOtherWork) {
  EnergyRun run;
  run.device.modes.push_back(record::LaunchMode::kSpaced);
  run.options.launches = {record::LaunchMode::kSpaced};
  run.run();
  EXPECT_FALSE(run.row("fast").energy->joules);
  EXPECT_THAT(run.row("fast").energy->unavailable, HasSubstr("spaced"));
}

TEST(Energy, AVariantThatFailsInItsBatchFails) {
  EnergyRun run;
  run.device.script("fast").device_error = [](const FakeCall& call) {
    return call.kind == FakeCall::Kind::kRepeat ? "out of memory" : "";
  };
  run.run();
  EXPECT_EQ(run.row("fast").status, record::Status::kFailed);
  EXPECT_EQ(run.row("slow").status, record::Status::kPassed);
}

}  // namespace
}  // namespace nf4bench
