#pragma once

// The flagship's kernel for float32. It waits for its predecessor late, reads ahead into L2 and
// keeps one wave of blocks ahead of the memory.

#include "cuda/dependent_launch.cuh"
#include "cuda/dequantize/read_ahead.cuh"
#include "cuda/dequantize/shuffle_decoder.cuh"
#include "cuda/dequantize/unit.cuh"
#include "cuda/dispatch.cuh"

namespace nf4bench::kernels::cuda {

// A warp takes 1024 elements: one 16-byte load a lane, spread through shared memory so that lane
// and unit agree and every store covers 512 contiguous bytes. Each scale is computed once, by one
// lane. Thread g of the grid loads elements 32 g and up; g has 32 bits, enough for 2^37 elements.
template <OutputType kType, bool kNested, int kThreads>
__global__ void __launch_bounds__(kThreads)
    fused_wide(const __grid_constant__ Job job, std::uint32_t whole_threads,
               std::uint32_t blocks_a_wave) {
  using U = Unit<kType>;
  constexpr int kUnits = 32 / U::kElements;  // of a lane
  __shared__ uint4 staging[kThreads];
  const ShuffleDecoder decoder;
  const std::uint32_t lane = threadIdx.x & 31;
  const std::uint32_t thread = blockIdx.x * kThreads + threadIdx.x;
  const std::uint32_t warp_thread = thread & ~31u;  // the warp's first
  allow_next_kernel();
  read_ahead<kNested, kThreads * 32>(job, blocks_a_wave);
  wait_for_previous_kernel();
  if (thread >= whole_threads) {
    decode_ragged<kType, kNested>(job, std::int64_t{warp_thread} * 32, 1024, lane, 32);
    return;
  }

  staging[threadIdx.x] = __ldcs(reinterpret_cast<const uint4*>(job.packed) + thread);
  // A warp has at most 32 blocks, for none is shorter than 32. Lanes beyond them repeat the last.
  const std::uint32_t block = warp_thread >> (job.block_shift - 5);
  const float scale = block_scale<kNested>(job, block + min(lane, 1023u >> job.block_shift));
  __syncwarp();
  const auto* words =
      reinterpret_cast<const typename U::Packed*>(staging + (threadIdx.x & ~31u)) + lane;
  uint4* output = static_cast<uint4*>(job.output) + thread;
  output += warp_thread * (kUnits - 1ull);
  const int owner_shift = job.block_shift - U::kShift;
#pragma unroll
  for (int u = 0; u < kUnits; ++u) {
    const float unit_scale = __shfl_sync(0xffffffffu, scale, (u * 32 + lane) >> owner_shift);
    float values[U::kElements];
    decoder.decode(words[u * 32], values);
    __stcs(output + u * 32, scale_unit<kType>(values, unit_scale));
  }
}

template <int kThreads>
void launch_fused_wide(const Job& job, const Launch& launch) {
  dispatch(job, [&](auto type, auto nested) {
    launch_dependent(launch, grid_size(job.elements, kThreads * 32), kThreads,
                     fused_wide<decltype(type)::value, decltype(nested)::value, kThreads>, job,
                     whole_threads(job, 32), resident_blocks(launch.device, kThreads));
  });
}

}  // namespace nf4bench::kernels::cuda
