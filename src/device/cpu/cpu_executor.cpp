#include "device/cpu/cpu_executor.hpp"

#include "base/error.hpp"
#include "cpu/thread_team.hpp"
#include "device/cpu/cpu_memory.hpp"

#include <omp.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

namespace nf4bench::device {
namespace {

class CpuExecutor final : public Executor {
 public:
  explicit CpuExecutor(int threads) : threads_(threads) {}

  void run(const char*, const std::function<void()>& calls) override {
    omp_set_num_threads(threads_);  // of this thread: the caller's may change between calls
    calls();
  }

  Sample sample(const Calls& calls, const SampleSpec& spec) override;

  void forget_addresses() override {}

  record::Verification judge(const Work& work, std::span<const std::byte> expected,
                             const std::byte* actual) override {
    const auto written = static_cast<std::size_t>(work.output_bytes);
    return work.judge.on_host(expected, {actual, std::min(expected.size(), written)});
  }

 private:
  void keep_cold(std::size_t sets, std::size_t launches);

  int threads_;
  std::size_t next_set_ = 0;
  std::size_t evicted_sets_ = 0;  // that no call has used since
  std::set<std::pair<std::string, record::CacheMode>> warmed_up_;
};

void CpuExecutor::keep_cold(std::size_t sets, std::size_t launches) {
  if (evicted_sets_ < launches && can_evict_cpu_buffers()) {
    evict_cpu_buffers();
    evicted_sets_ = sets;
  }
  evicted_sets_ -= std::min(evicted_sets_, launches);
}

// A cold sample goes on with the set after the last one that any sample used; where the rotation is
// smaller than the caches it is evicted before a set comes round again. A hot sample has one
// untimed call in front of it, since other variants ran on other buffers in between.
Sample CpuExecutor::sample(const Calls& calls, const SampleSpec& spec) {
  if (spec.launch != record::LaunchMode::kStream || spec.launches < 1) {
    throw Error(ErrorKind::kUsage, "the CPU device times plain calls only; use --launch stream");
  }
  omp_set_num_threads(threads_);
  const bool is_hot = spec.cache == record::CacheMode::kHot;
  const auto make = [&](int count) {
    calls.make(is_hot ? 0 : next_set_, count, spec.cache);
    if (!is_hot) next_set_ = (next_set_ + static_cast<std::size_t>(count)) % calls.sets;
  };
  const bool is_first = warmed_up_.emplace(calls.name, spec.cache).second;
  if (is_hot || is_first) make(1);
  if (!is_hot) keep_cold(calls.sets, static_cast<std::size_t>(spec.launches));
  kernels::cpu::wake_threads();
  const auto start = std::chrono::steady_clock::now();
  make(spec.launches);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  return {.seconds = elapsed.count() / spec.launches, .sm_clock_hz = {}};
}

}  // namespace

std::unique_ptr<Executor> make_cpu_executor(int threads) {
  return std::make_unique<CpuExecutor>(threads);
}

}  // namespace nf4bench::device
