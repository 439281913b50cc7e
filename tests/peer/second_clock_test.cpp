// What a process says of its own time, beside what the system has seen.

#include "peer/process/second_clock.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace nf4bench::peer {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

// Calls that say `said_s` each while one thread, or each of some, takes `taken_s`.
SeenCalls calls(std::size_t count, double said_s, double taken_s, int threads = 1) {
  const auto times = static_cast<double>(count);
  return {count, times * said_s, {times * taken_s, times * taken_s * threads}};
}

TEST(SecondClock, AgreesWithAProcessThatSaysTheTruth) {
  EXPECT_THAT(SecondClock(1).implausibility(calls(100, 1e-3, 1.1e-3)), IsEmpty());
  EXPECT_THAT(SecondClock(8).implausibility(calls(100, 1e-3, 1e-3, 8)), IsEmpty());
  EXPECT_THAT(SecondClock(1).implausibility(calls(0, 0.0, 0.0)), IsEmpty());
}

// On a busy machine more time passes than the process takes.
TEST(SecondClock, AgreesWithAProcessThatHadToWait) {
  EXPECT_THAT(SecondClock(1).implausibility(calls(100, 9e-3, 1e-3)), IsEmpty());
}

// Two threads on one core are slower than one that was alone when it was first timed.
TEST(SecondClock, AgreesWithAProcessThatHasBecomeSlower) {
  SecondClock clock(1);
  for (int sample = 0; sample < 30; ++sample) {
    EXPECT_THAT(clock.implausibility(calls(1, 1e-3, 1e-3)), IsEmpty());
  }
  EXPECT_THAT(clock.implausibility(calls(100, 2.7e-3, 2.7e-3)), IsEmpty());
  EXPECT_THAT(clock.implausibility(calls(100, 4.5e-3, 4.5e-3)), HasSubstr("implausible"));
}

// Threads that wait for each other spin while a busy machine keeps one of them from running.
TEST(SecondClock, AgreesWithThreadsThatHadToWaitForEachOther) {
  SecondClock clock(2);
  for (int sample = 0; sample < 30; ++sample) {
    EXPECT_THAT(clock.implausibility(calls(1, 1e-3, 1e-3, 2)), IsEmpty());
  }
  EXPECT_THAT(clock.implausibility({1, 0.1, {0.035, 0.07}}), IsEmpty());
}

TEST(SecondClock, FindsAProcessThatSaysHalfOfIt) {
  EXPECT_THAT(
      SecondClock(4).implausibility(calls(100, 1e-3, 2e-3)),
      HasSubstr("by its own clock 100 calls take 100.0 ms, but the system counts 200.0 ms"));
}

TEST(SecondClock, FindsWorkOfOtherThreads) {
  const SeenCalls made = {100, 0.1, {0.0, 0.8}};
  EXPECT_THAT(SecondClock(4).implausibility(made), HasSubstr("implausible"));
  EXPECT_THAT(SecondClock(8).implausibility(made), IsEmpty());
  EXPECT_THAT(SecondClock(2).implausibility({1, 1e-4, {1e-4, 0.05}}), IsEmpty());  // they spin
}

TEST(SecondClock, FindsAProcessThatIsHonestOnlyWhenItIsCalledOften) {
  SecondClock clock(1);
  for (int sample = 0; sample < 30; ++sample) {
    EXPECT_THAT(clock.implausibility(calls(1, 1e-4, 1e-3)), IsEmpty());
  }
  EXPECT_THAT(clock.implausibility(calls(100, 1e-3, 1e-3)), HasSubstr("implausible"));
  clock.forget();
  EXPECT_THAT(clock.implausibility(calls(100, 1e-3, 1e-3)), IsEmpty());
}

}  // namespace
}  // namespace nf4bench::peer
