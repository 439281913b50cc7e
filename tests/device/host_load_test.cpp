#include "device/cpu/host_load.hpp"

#include "base/parallel.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace nf4bench {
namespace {

device::LoadReading reading(double busy, double stolen, double total, double own) {
  return {.processors = 4,
          .times = device::ProcessorTimes{.busy = busy, .stolen = stolen, .total = total},
          .own_ticks = own,
          .involuntary_switches = 0};
}

TEST(LoadBetween, GivesOthersWhatTheProgramDidNotUse) {
  const auto load = device::load_between(reading(100, 10, 1000, 50), reading(404, 50, 1400, 250));
  ASSERT_TRUE(load);
  EXPECT_DOUBLE_EQ(load->others, 1.0);  // 304 - 200 - 4 ticks of 400, which four processors shared
  EXPECT_DOUBLE_EQ(load->stolen, 0.1);
  EXPECT_FALSE(load->disturbed);
}

TEST(LoadBetween, TakesNothingFromAClockThatIsTooCoarse) {
  const auto load = device::load_between(reading(0, 0, 0, 0), reading(8, 0, 8, 4.5));
  ASSERT_TRUE(load);
  EXPECT_EQ(load->others, 0.0);
}

TEST(LoadBetween, IsUnknownWithoutATickOrATable) {
  const device::LoadReading start = reading(100, 0, 1000, 50);
  EXPECT_FALSE(device::load_between(start, start));
  device::LoadReading blind = reading(200, 0, 2000, 50);
  blind.times.reset();
  EXPECT_FALSE(device::load_between(start, blind));
  EXPECT_FALSE(device::load_between(blind, start));
}

// However busy this machine is, a thread of this program is none of the others.
TEST(ReadLoad, CountsThisProgramAsItself) {
  const device::LoadReading start = device::read_load();
  ASSERT_GT(start.processors, 0);
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(200);
  while (std::chrono::steady_clock::now() < end) {
  }
  const device::LoadReading stop = device::read_load();
  EXPECT_GT(stop.own_ticks, start.own_ticks);
  EXPECT_GE(stop.involuntary_switches, start.involuntary_switches);
  ASSERT_TRUE(stop.times);
  EXPECT_GE(stop.times->total, start.times->total);
}

TEST(ForeignThreads, AreAllButTheCallersAndOurTeams) {
  const std::vector<int> before = device::foreign_threads();
  parallel_for(1 << 16, 1, [](std::int64_t, std::int64_t) {});
  EXPECT_EQ(device::foreign_threads(), before);
  std::atomic<bool> is_over = false;
  std::jthread other([&] {
    while (!is_over) {
    }
  });
  const std::vector<int> with_other = device::foreign_threads();
  ASSERT_EQ(with_other.size(), before.size() + 1);
  const double start_s = device::thread_seconds(with_other.back());
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (device::thread_seconds(with_other.back()) < start_s + 0.02) {
    ASSERT_LT(std::chrono::steady_clock::now(), end);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  is_over = true;
}

TEST(IsDisturbed, AsksWhetherEnoughIsLeftForTheThreads) {
  EXPECT_FALSE(record::is_disturbed({.processors = 8, .others = 0.79}, 8));
  EXPECT_TRUE(record::is_disturbed({.processors = 8, .others = 0.81}, 8));
  EXPECT_FALSE(record::is_disturbed({.processors = 8, .others = 4.0}, 4));
  EXPECT_TRUE(record::is_disturbed({.processors = 8, .others = 4.5}, 4));
  EXPECT_TRUE(record::is_disturbed({.processors = 8, .others = 0.81}, 99));
  EXPECT_TRUE(record::is_disturbed({.processors = 8, .stolen = 0.11}, 8));
}

}  // namespace
}  // namespace nf4bench
