#include "base/parallel.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

namespace nf4bench {
namespace {

TEST(Parallel, CoversEveryIndexOnceFromMultiplesOfTheGrain) {
  for (const std::int64_t grain : {1, 7, 64, 1000}) {
    for (const std::int64_t count : {1, 6, 7, 8, 63, 64, 65, 999, 1000, 1001, 12345}) {
      std::vector<std::atomic<int>> seen(static_cast<std::size_t>(count));
      std::atomic<bool> is_misplaced = false;
      parallel_for(count, grain, [&](std::int64_t first, std::int64_t last) {
        if (first % grain != 0 || first >= last || last > count) is_misplaced = true;
        if (last != count && last % grain != 0) is_misplaced = true;
        for (std::int64_t i = first; i < last; ++i) ++seen[static_cast<std::size_t>(i)];
      });
      EXPECT_FALSE(is_misplaced) << count << " by " << grain;
      for (const auto& times : seen) ASSERT_EQ(times, 1) << count << " by " << grain;
    }
  }
}

TEST(Parallel, DoesNothingForNothing) {
  parallel_for(0, 1, [](std::int64_t, std::int64_t) { FAIL(); });
  parallel_for(-5, 1, [](std::int64_t, std::int64_t) { FAIL(); });
}

TEST(Parallel, RethrowsTheFailureOfARange) {
  const auto run = [](std::int64_t bad) {
    parallel_for(10'000, 1, [bad](std::int64_t first, std::int64_t last) {
      if (first <= bad && bad < last) throw std::runtime_error("range of " + std::to_string(bad));
    });
  };
  for (const std::int64_t bad : {0, 5'000, 9'999}) {
    try {
      run(bad);
      ADD_FAILURE() << "no exception for " << bad;
    } catch (const std::runtime_error& error) {
      EXPECT_EQ(error.what(), "range of " + std::to_string(bad));
    }
  }
}

TEST(Parallel, StartsNoFurtherRangesAfterAFailure) {
  std::atomic<int> started = 0;
  EXPECT_THROW(parallel_for(1'000'000, 1000,
                            [&](std::int64_t, std::int64_t) {
                              ++started;
                              throw std::runtime_error("stop");
                            }),
               std::runtime_error);
  EXPECT_LE(started, hardware_threads());
}

TEST(Parallel, KeepsItsThreads) {
  std::mutex mutex;
  std::set<pid_t> threads;
  for (int call = 0; call < 50; ++call) {
    parallel_for(1000, 1, [&](std::int64_t, std::int64_t) {
      const std::lock_guard lock(mutex);
      threads.insert(gettid());
    });
  }
  EXPECT_LE(std::ssize(threads), hardware_threads());
}

TEST(Parallel, MayBeNestedAndCalledFromManyThreads) {
  std::atomic<std::int64_t> sum = 0;
  const auto add_all = [&] {
    parallel_for(20, 1, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i) {
        parallel_for(100, 1, [&](std::int64_t from, std::int64_t to) { sum += to - from; });
      }
    });
  };
  {
    std::vector<std::jthread> callers;
    for (int i = 0; i < 8; ++i) callers.emplace_back(add_all);
  }
  EXPECT_EQ(sum, 8 * 20 * 100);
}

TEST(Parallel, LeavesSignalsToTheCaller) {
  std::atomic<int> wrong = 0;
  const pid_t caller = gettid();
  parallel_for(1000, 1, [&](std::int64_t, std::int64_t) {
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    if ((sigismember(&mask, SIGINT) == 1) != (gettid() != caller)) ++wrong;
  });
  EXPECT_EQ(wrong, 0);
}

TEST(Parallel, HasAtLeastOneThread) {
  EXPECT_GE(hardware_threads(), 1);
}

}  // namespace
}  // namespace nf4bench
