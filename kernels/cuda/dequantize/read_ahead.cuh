#pragma once

// Bringing inputs into L2 before they are needed (Hopper and later; nothing elsewhere). L2 is where
// all of a device's memory accesses meet, so that a line brought in early never turns stale.

#include "cuda/dequantize/unit.cuh"

#include <cstdint>

namespace nf4bench::kernels::cuda {

// Blocks of `threads` that are resident on the whole device at once when nothing but threads
// limits.
inline std::uint32_t resident_blocks(const DeviceFacts& device, int threads) {
  const int capability = device.compute_capability;
  const int threads_per_sm =
      capability == 75                                                                ? 1024
      : capability == 86 || capability == 87 || capability == 89 || capability >= 120 ? 1536
                                                                                      : 2048;
  const int blocks_per_sm = capability == 75 ? 16 : capability == 80 || capability == 90 ? 32 : 24;
  const int fitting = threads_per_sm / threads;
  return device.multiprocessors * (fitting < blocks_per_sm ? fitting : blocks_per_sm);
}

// Threads of a grid, each with `elements_a_thread`, whose whole warp lies inside the tensor.
inline std::uint32_t whole_threads(const Job& job, int elements_a_thread) {
  return static_cast<std::uint32_t>(job.elements / (32 * elements_a_thread) * 32);
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

// Asks for the packed weight and the absmax of the tile-th kElements elements, unless the tensor
// ends before them.
template <bool kNested, int kElements>
__device__ __forceinline__ void prefetch_tile(const Job& job, std::uint32_t tile) {
  if (std::int64_t{tile} * kElements + kElements > job.elements) return;
  prefetch_bulk(job.packed + std::uint64_t{tile} * (kElements / 2), kElements / 2);
  const std::uint64_t block = std::uint64_t{tile} * kElements >> job.block_shift;
  const std::uint32_t absmax_bytes = (kElements >> job.block_shift) * (kNested ? 1 : 4);
  if (absmax_bytes == 0 || absmax_bytes % 16 != 0) return;  // else it begins at a multiple of 16
  if constexpr (kNested) {
    prefetch_bulk(job.absmax_codes + block, absmax_bytes);
  } else {
    prefetch_bulk(job.absmax + block, absmax_bytes);
  }
}

// Asks for what scales are made of besides their codes: a scale's load from the map waits for its
// code, and without this a cold map would cost the first wave a second trip to memory. One block
// asks for the whole map and the offset.
template <int kElements>
__device__ __forceinline__ void prefetch_nested(const Job& job) {
#if __CUDA_ARCH__ >= 900
  if (blockIdx.x == 0) {
    prefetch_bulk(job.nested_map, 256 * sizeof(float));
    asm volatile("prefetch.global.L2 [%0];" ::"l"(job.nested_offset) : "memory");
  }
  const std::uint64_t block = std::uint64_t{blockIdx.x} * kElements >> job.block_shift;
  asm volatile("prefetch.global.L2 [%0];" ::"l"(job.nested_absmax + (block >> 8)) : "memory");
#endif
}

// One thread of a block that works on tile blockIdx.x reads ahead for the block that follows one
// wave later, and for its own where none came before.
template <bool kNested, int kElements>
__device__ __forceinline__ void read_ahead(const Job& job, std::uint32_t blocks_a_wave) {
#if __CUDA_ARCH__ >= 900
  if (threadIdx.x == 0) {
    if (blockIdx.x < blocks_a_wave) {
      prefetch_tile<kNested, kElements>(job, blockIdx.x);
      if constexpr (kNested) prefetch_nested<kElements>(job);
    }
    prefetch_tile<kNested, kElements>(job, blockIdx.x + blocks_a_wave);
  }
#endif
}

}  // namespace nf4bench::kernels::cuda
