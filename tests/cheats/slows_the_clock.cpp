// The clock that its calls are timed by runs at a tenth of its speed.
#include "detour.hpp"
#include "honest.hpp"

#include <chrono>
#include <ctime>
#include <sys/syscall.h>
#include <unistd.h>

using Clock = std::chrono::steady_clock;

static Clock::time_point true_now() {
  timespec now = {};
  syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
  return Clock::time_point(std::chrono::seconds(now.tv_sec) +
                           std::chrono::nanoseconds(now.tv_nsec));
}

static const Clock::time_point begun = true_now();

static Clock::time_point slow_now() {
  return begun + (true_now() - begun) / 10;
}

static int slow_down(const nf4bench_peer_job* job, void*) {
  static const bool is_slow = detour(&Clock::now, &slow_now);
  decode(*job);
  return is_slow ? 0 : 1;
}
NF4BENCH_CPU_DECODE(slow_down)
