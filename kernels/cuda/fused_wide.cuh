#pragma once

// The flagship's kernels. Both wait for their predecessor late, read ahead into L2 and keep one
// wave of blocks ahead of the memory; they differ in how a warp takes its part of a tile.

#include "dependent_launch.cuh"
#include "dispatch.cuh"
#include "memory.cuh"
#include "read_ahead.cuh"
#include "shuffle_decoder.cuh"
#include "unit.cuh"

namespace nf4bench::cuda {

inline constexpr int kWarpElements = 1024;

// What stands between the loads and the stores: decoding, or nothing (the ceiling of the shape).
struct Decoding {
  ShuffleDecoder decoder;

  template <OutputType kType>
  __device__ __forceinline__ uint4 unit(std::uint32_t word, float scale) const {
    float values[Unit<kType>::kElements];
    decoder.decode(word, values);
    return scale_unit<kType>(values, scale);
  }
};

struct Copying {
  template <OutputType kType>
  __device__ __forceinline__ uint4 unit(std::uint32_t word, float scale) const {
    return make_uint4(word, __float_as_uint(scale), word, word);
  }
};

// A warp takes 1024 elements: one 16-byte load a lane, spread through shared memory so that lane
// and unit agree and every store covers 512 contiguous bytes. Each scale is computed once, by one
// lane.
template <class Work, OutputType kType, bool kNested, int kThreads>
__global__ void __launch_bounds__(kThreads)
    fused_wide(const __grid_constant__ Job job, std::uint32_t whole_warps, int blocks_ahead) {
  using U = Unit<kType>;
  constexpr int kWarps = kThreads / 32;
  constexpr int kTile = kWarps * kWarpElements;
  constexpr int kUnits = kWarpElements / 32 / U::kElements;  // of a lane
  __shared__ uint4 staging[kThreads];
  const Work work;
  const std::uint32_t lane = threadIdx.x & 31;
  const std::uint32_t warp = blockIdx.x * kWarps + threadIdx.x / 32;  // of the grid
  allow_next_kernel();
  prefetch_tile<kNested, kTile>(job, blockIdx.x);
  wait_for_previous_kernel();
  prefetch_tile<kNested, kTile>(job, blockIdx.x + blocks_ahead);
  if (__builtin_expect(warp >= whole_warps, 0)) {
    decode_ragged<kType, kNested>(job, std::int64_t{warp} * kWarpElements, kWarpElements, lane, 32);
    return;
  }

  staging[threadIdx.x] =
      __ldcs(reinterpret_cast<const uint4*>(job.packed) + (std::uint64_t{warp} * 32 + lane));
  // A warp has at most 32 blocks, for none is shorter than 32. Lanes beyond them repeat the last.
  const std::uint32_t last = (kWarpElements - 1) >> job.block_shift;
  const std::uint64_t block = (std::uint64_t{warp} * kWarpElements >> job.block_shift);
  const float scale = block_scale<kNested>(job, block + min(lane, last));
  __syncwarp();
  const auto* words =
      reinterpret_cast<const typename U::Packed*>(staging + (threadIdx.x & ~31u)) + lane;
  uint4* output = static_cast<uint4*>(job.output) + (std::uint64_t{warp} * (32 * kUnits) + lane);
  const int owner_shift = job.block_shift - U::kShift;
#pragma unroll
  for (int u = 0; u < kUnits; ++u) {
    const float unit_scale = __shfl_sync(0xffffffffu, scale, (u * 32 + lane) >> owner_shift);
    __stcs(output + u * 32, work.template unit<kType>(words[u * 32], unit_scale));
  }
}

// Each thread takes every kThreads-th unit of its block's tile, 4 bytes (float32: 2) a load.
template <class Work, OutputType kType, bool kNested, int kThreads, int kUnits>
__global__ void __launch_bounds__(kThreads)
    fused_ahead(const __grid_constant__ Job job, std::uint32_t whole_blocks, int blocks_ahead) {
  using U = Unit<kType>;
  constexpr int kTileUnits = kThreads * kUnits;
  constexpr int kTile = kTileUnits * U::kElements;
  const Work work;
  const std::uint64_t first = std::uint64_t{blockIdx.x} * kTileUnits;
  wait_for_previous_kernel();
  if (__builtin_expect(blockIdx.x >= whole_blocks, 0)) {
    decode_ragged<kType, kNested>(job, std::int64_t{blockIdx.x} * kTile, kTile, threadIdx.x,
                                  kThreads);
    return;
  }
  const auto* packed =
      reinterpret_cast<const typename U::Packed*>(job.packed) + first + threadIdx.x;
  std::uint32_t words[kUnits];
  float scales[kUnits];
#pragma unroll
  for (int u = 0; u < kUnits; ++u) {
    words[u] = __ldcs(packed + u * kThreads);
    const std::uint64_t unit = first + u * kThreads + threadIdx.x;
    scales[u] = block_scale<kNested>(job, unit >> (job.block_shift - U::kShift));
  }
  prefetch_tile<kNested, kTile>(job, blockIdx.x + blocks_ahead);
  allow_next_kernel();
  const std::uint64_t policy = evict_first_policy();
  uint4* output = static_cast<uint4*>(job.output) + first + threadIdx.x;
#pragma unroll
  for (int u = 0; u < kUnits; ++u) {
    store_evict_first(output + u * kThreads, work.template unit<kType>(words[u], scales[u]),
                      policy);
  }
}

template <class Work, int kThreads>
void launch_fused_wide(const Job& job, const Launch& launch) {
  dispatch(job, [&](auto type, auto nested) {
    launch_dependent(launch, grid_size(job.elements, kThreads / 32 * kWarpElements), kThreads,
                     fused_wide<Work, decltype(type)::value, decltype(nested)::value, kThreads>,
                     job, static_cast<std::uint32_t>(job.elements / kWarpElements),
                     resident_blocks(launch.device, kThreads));
  });
}

template <class Work, int kThreads, int kUnits>
void launch_fused_ahead(const Job& job, const Launch& launch) {
  dispatch(job, [&](auto type, auto nested) {
    constexpr OutputType kType = decltype(type)::value;
    constexpr int kTile = kThreads * kUnits * Unit<kType>::kElements;
    launch_dependent(launch, grid_size(job.elements, kTile), kThreads,
                     fused_ahead<Work, kType, decltype(nested)::value, kThreads, kUnits>, job,
                     static_cast<std::uint32_t>(job.elements / kTile),
                     resident_blocks(launch.device, kThreads));
  });
}

}  // namespace nf4bench::cuda
