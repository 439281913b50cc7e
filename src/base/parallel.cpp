#include "base/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <csignal>
#include <deque>
#include <exception>
#include <mutex>
#include <pthread.h>
#include <sched.h>
#include <stop_token>
#include <system_error>
#include <thread>
#include <vector>

namespace nf4bench {
namespace {

// Ranges a thread gets on average: enough to even out threads that run at different speeds.
constexpr std::int64_t kRangesPerThread = 8;

// Work shared by the threads of one parallel_for().
struct Shared {
  std::int64_t count;
  std::int64_t range;
  const std::function<void(std::int64_t, std::int64_t)>& body;
  std::atomic<std::int64_t> next{0};
  std::mutex mutex;
  std::exception_ptr failure;
  int helpers = 0;  // at work on it; guarded by the mutex of Helpers
};

void work(Shared& shared) {
  const std::int64_t ranges =
      shared.count / shared.range + (shared.count % shared.range != 0 ? 1 : 0);
  for (std::int64_t index = shared.next++; index < ranges; index = shared.next++) {
    const std::int64_t first = index * shared.range;
    try {
      shared.body(first, first + std::min(shared.range, shared.count - first));
    } catch (...) {
      const std::lock_guard lock(shared.mutex);
      if (!shared.failure) shared.failure = std::current_exception();
      shared.next = ranges;  // nobody starts another range
      return;
    }
  }
}

// Threads that are kept from call to call: starting one takes longer than many a call, a
// millisecond in some sandboxes. Whoever asks for help works, too, so that calls may be nested.
class Helpers {
 public:
  // Up to `count` threads come to `shared` when they are free.
  void call(Shared& shared, std::int64_t count);

  // Returns once nobody is at work on `shared` and nobody will be.
  void dismiss(Shared& shared);

 private:
  void start_thread();
  void serve(const std::stop_token& end);

  std::mutex mutex_;
  std::condition_variable_any called_;
  std::condition_variable dismissed_;
  std::deque<Shared*> calls_;  // one for each helper wanted
  std::vector<std::jthread> threads_;
};

void Helpers::call(Shared& shared, std::int64_t count) {
  const std::lock_guard lock(mutex_);
  try {
    while (std::ssize(threads_) < count) start_thread();
  } catch (const std::system_error&) {
    // The system gives no more threads: those that are there, and the caller, do all of the work.
  }
  calls_.insert(calls_.end(), static_cast<std::size_t>(count), &shared);
  called_.notify_all();
}

void Helpers::dismiss(Shared& shared) {
  std::unique_lock lock(mutex_);
  std::erase(calls_, &shared);
  dismissed_.wait(lock, [&] { return shared.helpers == 0; });
}

// Signals are for the threads that wait for them.
void Helpers::start_thread() {
  sigset_t all;
  sigset_t former;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &former);
  try {
    threads_.emplace_back([this](const std::stop_token& end) { serve(end); });
    pthread_setname_np(threads_.back().native_handle(), "nf4 team");  // see foreign_threads()
  } catch (...) {
    pthread_sigmask(SIG_SETMASK, &former, nullptr);
    throw;
  }
  pthread_sigmask(SIG_SETMASK, &former, nullptr);
}

void Helpers::serve(const std::stop_token& end) {
  std::unique_lock lock(mutex_);
  while (called_.wait(lock, end, [&] { return !calls_.empty(); })) {
    Shared& shared = *calls_.front();
    calls_.pop_front();
    ++shared.helpers;
    lock.unlock();
    work(shared);
    lock.lock();
    if (--shared.helpers == 0) dismissed_.notify_all();
  }
}

Helpers& helpers() {
  static Helpers all;
  return all;
}

}  // namespace

int hardware_threads() {
  // The affinity mask counts what taskset, cgroups and batch systems left to this process.
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) == 0) {
    return std::max(1, CPU_COUNT(&allowed));
  }
  return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

void parallel_for(std::int64_t count, std::int64_t grain,
                  const std::function<void(std::int64_t first, std::int64_t last)>& body) {
  if (count <= 0) return;
  grain = std::max<std::int64_t>(grain, 1);
  const std::int64_t grains = count / grain + (count % grain != 0 ? 1 : 0);
  const std::int64_t threads = std::min<std::int64_t>(hardware_threads(), grains);
  const std::int64_t grains_per_range =
      std::max<std::int64_t>(1, grains / (threads * kRangesPerThread));
  if (threads == 1) return body(0, count);

  Shared shared{count, grains_per_range * grain, body, {}, {}, {}};
  helpers().call(shared, threads - 1);
  work(shared);
  helpers().dismiss(shared);
  if (shared.failure) std::rethrow_exception(shared.failure);
}

}  // namespace nf4bench
