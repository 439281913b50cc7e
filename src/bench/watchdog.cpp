#include "bench/watchdog.hpp"

#include <algorithm>
#include <utility>

namespace nf4bench::bench {

namespace {

// How often the clock is looked at, at most and at least. Being told of each call would cost a wake
// up a sample.
constexpr std::chrono::milliseconds kLongestNap{500};
constexpr std::chrono::milliseconds kShortestNap{5};

}  // namespace

Watchdog::Watchdog(double limit_s, Action on_expiry)
    : limit_(std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(limit_s))),
      on_expiry_(std::move(on_expiry)) {
  if (limit_s <= 0.0) return;
  thread_ = std::jthread([this](const std::stop_token& stop) { guard(stop); });
}

Watchdog::~Watchdog() = default;

void Watchdog::guard(const std::stop_token& stop) {
  const Clock::duration nap = std::clamp<Clock::duration>(limit_ / 8, kShortestNap, kLongestNap);
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    ended_.wait_for(lock, stop, nap, [] { return false; });
    if (caller_ == nullptr || Clock::now() - started_ < limit_) continue;
    on_expiry_(*caller_);
    caller_ = nullptr;
  }
}

Watchdog::Watch::Watch(Watchdog& watchdog, const Caller& caller) : watchdog_(watchdog) {
  const std::lock_guard lock(watchdog_.mutex_);
  watchdog_.caller_ = &caller;
  watchdog_.started_ = Clock::now();
}

Watchdog::Watch::~Watch() {
  const std::lock_guard lock(watchdog_.mutex_);
  watchdog_.caller_ = nullptr;
}

}  // namespace nf4bench::bench
