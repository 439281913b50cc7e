#include "cpu/thread_team.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

namespace nf4bench {
namespace {

TEST(ThreadTeam, RunsEachPartOnce) {
  for (const int threads : {1, 2, 3, 7, 2}) {
    for (const std::int64_t parts : {0, 1, 2, 3, 5, 8, 100, 1001}) {
      for (int call = 0; call < 50; ++call) {
        std::vector<std::atomic<int>> runs(static_cast<std::size_t>(parts));
        kernels::cpu::run_parts(threads, parts,
                                [&](std::int64_t part) { ++runs[static_cast<std::size_t>(part)]; });
        for (const std::atomic<int>& count : runs) ASSERT_EQ(count, 1) << threads << " " << parts;
      }
    }
  }
}

// What parts have written is there when the call returns, without any atomic of theirs.
TEST(ThreadTeam, HasFinishedWhenItReturns) {
  std::vector<int> values(1000);
  for (int call = 1; call <= 2000; ++call) {
    kernels::cpu::run_parts(4, 1000,
                            [&](std::int64_t part) { ++values[static_cast<std::size_t>(part)]; });
    ASSERT_EQ(std::count(values.begin(), values.end(), call), 1000);
  }
}

TEST(ThreadTeam, SharesTheWorkOfLongParts) {
  std::mutex mutex;
  std::set<std::thread::id> threads;
  kernels::cpu::run_parts(2, 8, [&](std::int64_t) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const std::lock_guard lock(mutex);
    threads.insert(std::this_thread::get_id());
  });
  EXPECT_EQ(threads.size(), 2u);
}

TEST(ThreadTeam, WakesFromItsSleep) {
  for (int call = 0; call < 20; ++call) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    if (call % 2 == 0) kernels::cpu::wake_threads(3);
    std::atomic<int> parts = 0;
    kernels::cpu::run_parts(3, 30, [&](std::int64_t) { ++parts; });
    ASSERT_EQ(parts, 30);
  }
}

TEST(ThreadTeam, ServesCallsWithinCallsAndFromOtherThreads) {
  std::atomic<int> inner = 0;
  kernels::cpu::run_parts(
      2, 4, [&](std::int64_t) { kernels::cpu::run_parts(2, 4, [&](std::int64_t) { ++inner; }); });
  EXPECT_EQ(inner, 16);
  std::atomic<int> parts = 0;
  {
    std::vector<std::jthread> callers;
    for (int caller = 0; caller < 3; ++caller) {
      callers.emplace_back([&] {
        for (int call = 0; call < 100; ++call) {
          kernels::cpu::run_parts(2, 10, [&](std::int64_t) { ++parts; });
        }
      });
    }
  }
  EXPECT_EQ(parts, 3000);
}

}  // namespace
}  // namespace nf4bench
