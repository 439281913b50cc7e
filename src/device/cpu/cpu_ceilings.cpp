#include "device/cpu/cpu_ceilings.hpp"

#include "cpu/stream_memory.hpp"
#include "device/cpu/cpu_facts.hpp"

#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cstring>

namespace nf4bench::device {
namespace {

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

}  // namespace

record::Ceilings measure_cpu_ceilings(int threads, std::int64_t cache_bytes, CpuMemory& memory) {
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

}  // namespace nf4bench::device
