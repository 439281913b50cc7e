#include "device/cpu/cpu_executor.hpp"

#include "base/error.hpp"
#include "cpu/thread_team.hpp"

#include <omp.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <thread>
#include <utility>

namespace nf4bench::device {
namespace {

class CpuExecutor final : public Executor {
 public:
  CpuExecutor(int threads, CpuMemory& memory) : threads_(threads), memory_(memory) {}

  void run(const char*, const std::function<void()>& calls) override {
    omp_set_num_threads(threads_);  // of this thread: the caller's may change between calls
    calls();
  }

  Taken sample(const Calls& calls, const SampleSpec& spec, const Truth* truth) override;

  void repeat(const Calls& calls, const SampleSpec& spec, int times) override {
    omp_set_num_threads(threads_);
    for (int i = 0; i < times; ++i) calls.make(next(calls, spec, spec.launches));
  }

  void forget_addresses() override {}
  void forget_references() override {}
  void refresh_reference(std::span<const std::byte>) override {}

  record::Verification judge(const Work& work, std::span<const std::byte> expected,
                             std::byte* actual) override {
    const auto written = static_cast<std::size_t>(work.output_bytes);
    return work.judge.on_host(expected, {actual, std::min(expected.size(), written)});
  }

  void wait_for_others() override { std::this_thread::sleep_for(kPatience); }

 private:
  CallRange next(const Calls& calls, const SampleSpec& spec, int count);
  void keep_cold(std::size_t sets, std::size_t launches);
  double time(const Calls& calls, const CallRange& range);

  int threads_;
  CpuMemory& memory_;
  std::size_t next_set_ = 0;      // behind that of the last cold call
  std::size_t first_set_ = 0;     // of the last cold calls
  std::size_t evicted_sets_ = 0;  // that no call has used since
  std::set<std::pair<std::string, record::CacheMode>> warmed_up_;
};

void CpuExecutor::keep_cold(std::size_t sets, std::size_t launches) {
  if (evicted_sets_ < launches && memory_.can_evict_all()) {
    memory_.evict_all();
    evicted_sets_ = sets;
  }
  evicted_sets_ -= std::min(evicted_sets_, launches);
}

// Cold calls go on with the set after the last one that any call used.
CallRange CpuExecutor::next(const Calls& calls, const SampleSpec& spec, int count) {
  if (spec.cache == record::CacheMode::kHot) return {0, count, spec.cache};
  if (!calls.again) {
    first_set_ = next_set_;
    next_set_ = (next_set_ + static_cast<std::size_t>(count)) % calls.sets;
  }
  return {first_set_, count, spec.cache};
}

double CpuExecutor::time(const Calls& calls, const CallRange& range) {
  if (calls.make_elsewhere) return calls.make_elsewhere(range);
  kernels::cpu::wake_threads(threads_);
  const auto start = std::chrono::steady_clock::now();
  calls.make(range);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  return elapsed.count();
}

// Where the rotation is smaller than the caches it is evicted before a set comes round again. A hot
// sample has one untimed call in front of it, since other variants ran on other buffers in between.
// It leaves what the first timed call does not.
Taken CpuExecutor::sample(const Calls& calls, const SampleSpec& spec, const Truth* truth) {
  if (spec.launch != record::LaunchMode::kStream || spec.launches < 1) {
    throw Error(ErrorKind::kUsage, "the CPU device times plain calls only; use --launch stream");
  }
  omp_set_num_threads(threads_);
  const bool is_first = warmed_up_.emplace(calls.name, spec.cache).second;
  if (spec.cache == record::CacheMode::kHot) {
    calls.make({1, 1, spec.cache});
  } else if (is_first) {
    calls.make(next(calls, spec, 1));
  }
  const CallRange range = next(calls, spec, spec.launches);
  Taken taken;
  taken.written = calls.written(range);
  if (calls.before) calls.before(taken.written);
  if (spec.cache == record::CacheMode::kCold) {
    keep_cold(calls.sets, static_cast<std::size_t>(spec.launches));
  }
  taken.sample.seconds = time(calls, range) / spec.launches;
  if (truth == nullptr) return taken;
  for (const Written& each : taken.written) {
    taken.found.push_back(judge(truth->work, truth->expected.of(each.content), each.output));
  }
  return taken;
}

}  // namespace

std::unique_ptr<Executor> make_cpu_executor(int threads, CpuMemory& memory) {
  return std::make_unique<CpuExecutor>(threads, memory);
}

}  // namespace nf4bench::device
