#pragma once

// Bringing inputs into L2 before they are needed (Hopper and later; nothing elsewhere). L2 is where
// all of a device's memory accesses meet, so that a line brought in early never turns stale.

#include <cstdint>

#include "unit.cuh"

namespace nf4bench::cuda {

// Blocks of `threads` that are resident on the whole device at once when nothing but threads
// limits.
inline int resident_blocks(const DeviceFacts& device, int threads) {
  const int capability = device.compute_capability;
  const int threads_per_sm =
      capability == 75                                                                ? 1024
      : capability == 86 || capability == 87 || capability == 89 || capability >= 120 ? 1536
                                                                                      : 2048;
  const int blocks_per_sm = capability == 75 ? 16 : capability == 80 || capability == 90 ? 32 : 24;
  const int fitting = threads_per_sm / threads;
  return device.multiprocessors * (fitting < blocks_per_sm ? fitting : blocks_per_sm);
}

// Asks for `bytes` at `address`, both multiples of 16, to be brought into L2 and kept there. The
// copy engine does the work; the thread goes on at once.
__device__ __forceinline__ void prefetch_bulk(const void* address, std::uint32_t bytes) {
#if __CUDA_ARCH__ >= 900
  std::uint64_t keep;
  asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(keep));
  asm volatile("cp.async.bulk.prefetch.L2.global.L2::cache_hint [%0], %1, %2;" ::"l"(address),
               "r"(bytes), "l"(keep)
               : "memory");
#endif
}

// One thread asks for the packed weight and the absmax of the tile-th kElements elements, unless
// the tensor ends before them.
template <bool kNested, int kElements>
__device__ __forceinline__ void prefetch_tile(const Job& job, std::uint32_t tile) {
#if __CUDA_ARCH__ >= 900
  if (threadIdx.x != 0 || std::uint64_t{tile} * kElements + kElements > job.elements) return;
  prefetch_bulk(job.packed + std::uint64_t{tile} * (kElements / 2), kElements / 2);
  const std::uint64_t block = std::uint64_t{tile} * kElements >> job.block_shift;
  const std::uint32_t absmax_bytes = (kElements >> job.block_shift) * (kNested ? 1 : 4);
  if (absmax_bytes != 0 && absmax_bytes % 16 == 0) {  // then it also begins at a multiple of 16
    if constexpr (kNested) {
      prefetch_bulk(job.absmax_codes + block, absmax_bytes);
    } else {
      prefetch_bulk(job.absmax + block, absmax_bytes);
    }
  }
#endif
}

}  // namespace nf4bench::cuda
