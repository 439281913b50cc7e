#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace nf4bench::bench {

// Whose work a device is asked to do.
struct Caller {
  std::string name;                    // a variant's in the run, a stream shape's, or what is done
  std::optional<std::size_t> index{};  // among the run's variants; empty for anything else
};

// Notices a call that does not return: a kernel that never ends, or a library that waits for ever.
// Neither can be stopped from within the process, so that the rest is up to whoever is told.
class Watchdog {
 public:
  using Action = std::function<void(const Caller&)>;

  // `on_expiry` runs on a thread of its own while the call of that caller, older than `limit_s`, is
  // still under way; should the call return meanwhile, the end of its Watch waits for the action.
  // A limit of zero watches nothing.
  Watchdog(double limit_s, Action on_expiry);
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;
  ~Watchdog();

  // A call that is watched as long as this object lives. One at a time.
  class Watch {
   public:
    Watch(Watchdog& watchdog, const Caller& caller);
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;
    ~Watch();

   private:
    Watchdog& watchdog_;
  };

 private:
  using Clock = std::chrono::steady_clock;
  void guard(const std::stop_token& stop);

  Clock::duration limit_;
  Action on_expiry_;
  std::mutex mutex_;  // of what follows; held while on_expiry_ runs
  std::condition_variable_any ended_;
  const Caller* caller_ = nullptr;  // null: nothing to watch
  Clock::time_point started_{};
  std::jthread thread_;
};

}  // namespace nf4bench::bench
