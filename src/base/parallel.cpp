#include "base/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <sched.h>
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
  std::vector<std::jthread> pool;
  pool.reserve(static_cast<std::size_t>(threads - 1));
  try {
    while (std::ssize(pool) < threads - 1) pool.emplace_back([&shared] { work(shared); });
  } catch (const std::system_error&) {
    // The system gives no more threads: those that started, and this one, do all of the work.
  }
  work(shared);
  pool.clear();
  if (shared.failure) std::rethrow_exception(shared.failure);
}

}  // namespace nf4bench
