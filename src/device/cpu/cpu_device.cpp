// The CPU as a device: variants run on all cores, time is a steady clock.

#include "base/error.hpp"
#include "base/parallel.hpp"
#include "cpu/simd_target.hpp"
#include "cpu/stream_memory.hpp"
#include "device/buffered_workload.hpp"
#include "device/cpu/cpu_executor.hpp"
#include "device/cpu/cpu_facts.hpp"
#include "device/cpu/cpu_memory.hpp"
#include "device/devices.hpp"

#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>

namespace nf4bench::device {
namespace {

// Before and behind what a variant may write. A page: vector code that runs over does so by less.
constexpr std::int64_t kGuardBytes = 4096;

// A sanitizer sees stray accesses itself if nothing lies where they go.
#if defined(__SANITIZE_ADDRESS__)
constexpr std::int64_t kGuardBytesToVerify = 0;
#else
constexpr std::int64_t kGuardBytesToVerify = kGuardBytes;
#endif

record::DeviceInfo describe(const DeviceOptions& options) {
  if (options.threads < 0) {
    throw Error(ErrorKind::kUsage, "the CPU device needs at least one thread (0 means all)");
  }
  record::DeviceInfo info;
  info.kind = record::DeviceKind::kCpu;
  info.id = "cpu";
  info.name = cpu_name();
  info.multiprocessors = options.threads > 0 ? options.threads : hardware_threads();
  info.l2_bytes = last_level_cache_bytes();
  info.memory_bytes = physical_memory_bytes();
  info.simd = kernels::cpu::simd_target();
  return info;
}

// Throws when not even one set of buffers fits.
void require_memory(const Work& work) {
  std::int64_t bytes = work.output_bytes;
  for (const InputBuffer& input : work.inputs) {
    bytes += static_cast<std::int64_t>(input.content.size());
  }
  const std::int64_t available = available_memory_bytes();
  if (bytes <= available) return;
  throw Error(ErrorKind::kDevice,
              "tensor \"{}\" as {} needs {} bytes on the CPU device, but {} are available; choose "
              "a smaller tensor or output type",
              work.name, to_string(work.problem.output_type), bytes, available);
}

constexpr int kRepetitions = 5;

// A thread's share of a buffer, in whole cache lines.
struct Share {
  std::size_t first;
  std::size_t bytes;
};

Share share_of(std::size_t bytes, int thread, int threads) {
  constexpr std::size_t kLine = 64;
  const std::size_t lines = bytes / kLine;
  const auto index = static_cast<std::size_t>(thread);
  const auto count = static_cast<std::size_t>(threads);
  const std::size_t first = lines * index / count * kLine;
  return {first, lines * (index + 1) / count * kLine - first};
}

// The shortest time of work(share) on all threads at once.
template <typename Work>
double best_seconds(std::size_t bytes, int threads, const Work& work) {
  double best = 0.0;
  for (int repetition = 0; repetition < kRepetitions; ++repetition) {
    const auto start = std::chrono::steady_clock::now();
#pragma omp parallel num_threads(threads)
    work(share_of(bytes, omp_get_thread_num(), omp_get_num_threads()));
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    best = repetition == 0 ? elapsed.count() : std::min(best, elapsed.count());
  }
  return best;
}

// Twice the caches, and never so much that the machine starts to swap.
std::size_t buffer_bytes(std::int64_t cache_bytes) {
  constexpr std::int64_t kLeast = std::int64_t{64} << 20;
  constexpr std::int64_t kMost = std::int64_t{1} << 30;
  const std::int64_t wanted = std::clamp(2 * cache_bytes, kLeast, kMost);
  return static_cast<std::size_t>(std::min(wanted, available_memory_bytes() / 8));
}

// The best rates at which `threads` threads copy and write `memory`, over buffers that no cache of
// `cache_bytes` holds.
record::Ceilings measure_ceilings_of(int threads, std::int64_t cache_bytes, CpuMemory& memory) {
  const std::size_t bytes = buffer_bytes(cache_bytes);
  const Buffer source(memory, static_cast<std::int64_t>(bytes), Access::kWrite);
  const Buffer target(memory, static_cast<std::int64_t>(bytes), Access::kWrite);
  memory.fill(source.data(), 0, source.bytes());
  memory.fill(target.data(), 0, target.bytes());
  std::byte* const from = source.data();
  std::byte* const to = target.data();
  // Which way is faster depends on the processor; the ceiling is the better of the two.
  const double copy_s =
      std::min(best_seconds(bytes, threads,
                            [&](Share s) { std::memcpy(to + s.first, from + s.first, s.bytes); }),
               best_seconds(bytes, threads, [&](Share s) {
                 kernels::cpu::copy_streaming(to + s.first, from + s.first, s.bytes);
               }));
  const double write_s = std::min(
      best_seconds(bytes, threads, [&](Share s) { std::memset(to + s.first, 1, s.bytes); }),
      best_seconds(bytes, threads,
                   [&](Share s) { kernels::cpu::fill_streaming(to + s.first, 1, s.bytes); }));
  record::Ceilings ceilings;
  ceilings.copy_bytes = 2 * static_cast<std::int64_t>(bytes);
  ceilings.copy_bytes_per_s = static_cast<double>(ceilings.copy_bytes) / copy_s;
  ceilings.write_bytes = static_cast<std::int64_t>(bytes);
  ceilings.write_bytes_per_s = static_cast<double>(bytes) / write_s;
  return ceilings;
}

class CpuDevice final : public Device {
 public:
  explicit CpuDevice(const DeviceOptions& options)
      : info_(describe(options)),
        config_(options.config),
        caches_rotated_(options.caches_rotated > 0 ? options.caches_rotated
                                                   : default_rotation(info_.kind)) {
    if (!options.shares_buffers) return;
    shared_ = std::make_unique<SharedArenas>();
    shared_memory_ = shared_cpu_memory(*shared_);
  }

  const record::DeviceInfo& info() const override { return info_; }

  record::DeviceState state() override {
    record::DeviceState state;
    state.unavailable = "clocks, power and temperature are read on CUDA devices only";
    return state;
  }

  std::optional<double> energy_j() override { return std::nullopt; }

  std::span<const record::LaunchMode> launch_modes() const override {
    static constexpr record::LaunchMode kModes[] = {record::LaunchMode::kStream};
    return kModes;
  }

  std::unique_ptr<Workload> upload(const Work& work, UploadPurpose purpose) override {
    require_memory(work);
    const bool is_alone = purpose == UploadPurpose::kVerify && shared_ == nullptr;
    const WorkloadPlan plan = {.purpose = purpose,
                               .guard = is_alone ? kGuardBytesToVerify : kGuardBytes};
    return make_workload(
        {.info = info_, .config = config_, .caches_rotated = caches_rotated_, .memory = memory()},
        work, plan, make_cpu_executor(info_.multiprocessors, memory()));
  }

  record::Ceilings measure_ceilings() override {
    return measure_ceilings_of(info_.multiprocessors, info_.l2_bytes, memory());
  }

  std::int64_t fitting_sets(std::int64_t wanted, std::int64_t set_bytes) override {
    return memory().fitting_sets(wanted, set_bytes);
  }

  SharedBuffers* shared_buffers() override { return shared_.get(); }

 private:
  CpuMemory& memory() const { return shared_memory_ ? *shared_memory_ : cpu_memory(); }

  record::DeviceInfo info_;
  std::string config_;
  int caches_rotated_;
  std::unique_ptr<SharedArenas> shared_;  // null: nobody else sees the buffers
  std::unique_ptr<CpuMemory> shared_memory_;
};

}  // namespace

std::unique_ptr<Device> open_cpu_device(const DeviceOptions& options) {
  return std::make_unique<CpuDevice>(options);
}

}  // namespace nf4bench::device
