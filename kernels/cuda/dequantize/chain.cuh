#pragma once

// The three launches with which Unsloth's fast_dequantize drives bitsandbytes: decode the absmax
// codes, add the offset, decode the weight. Tiles, thread counts and the transposed block loads are
// those of bitsandbytes' kernels, so that the baselines cost what the libraries cost. What differs:
// indices are 64-bit and the last tile does not read past absmax.

#include "cuda/dequantize/add_offset.hpp"
#include "cuda/dequantize/unit.cuh"
#include "cuda/dispatch.cuh"

#include <cub/block/block_load.cuh>
#include <cub/block/block_store.cuh>

namespace nf4bench::kernels::cuda {

inline constexpr int kChainThreads = 64;
inline constexpr int kCodesPerThread = 8;  // of absmax
inline constexpr int kBytesPerThread = 8;  // of packed weight

// scales[b] = map[codes[b]] * nested_absmax[b / 256]; 512 codes a thread block.
static __global__ void __launch_bounds__(kChainThreads)
    decode_absmax(const __grid_constant__ Job job, float* scales) {
  constexpr int kTile = kChainThreads * kCodesPerThread;
  using Load =
      cub::BlockLoad<std::uint8_t, kChainThreads, kCodesPerThread, cub::BLOCK_LOAD_WARP_TRANSPOSE>;
  using Store =
      cub::BlockStore<float, kChainThreads, kCodesPerThread, cub::BLOCK_STORE_WARP_TRANSPOSE>;
  __shared__ union {
    typename Load::TempStorage load;
    typename Store::TempStorage store;
  } shared;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kTile;
  const int valid = static_cast<int>(min(job.blocks - first, std::int64_t{kTile}));
  std::uint8_t codes[kCodesPerThread];
  float values[kCodesPerThread];
  Load(shared.load).Load(job.absmax_codes + first, codes, valid, std::uint8_t{128});
  __syncthreads();
  const std::int64_t mine = min(first + threadIdx.x * kCodesPerThread, job.blocks - 1);
  const float absmax = __ldg(job.nested_absmax + mine / kNestedBlocksize);
#pragma unroll
  for (int i = 0; i < kCodesPerThread; ++i) {
    values[i] = multiply_flushed(__ldg(job.nested_map + codes[i]), absmax);
  }
  Store(shared.store).Store(scales + first, values, valid);
}

// output = Lookup(nibble) * scales[block], 1024 elements a thread block. Lookup has a static
// `float value(unsigned nibble)`.
template <class Lookup, OutputType kType>
__global__ void __launch_bounds__(kChainThreads)
    decode_weight(const __grid_constant__ Job job, const float* scales) {
  constexpr int kValuesPerThread = 2 * kBytesPerThread;
  constexpr int kTile = kChainThreads * kValuesPerThread;
  using Element = decltype(round_to<kType>(0.0f));
  using Load =
      cub::BlockLoad<std::uint8_t, kChainThreads, kBytesPerThread, cub::BLOCK_LOAD_WARP_TRANSPOSE>;
  using Store =
      cub::BlockStore<Element, kChainThreads, kValuesPerThread, cub::BLOCK_STORE_WARP_TRANSPOSE>;
  __shared__ union {
    typename Load::TempStorage load;
    typename Store::TempStorage store;
  } shared;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kTile;
  const int valid = static_cast<int>(min(job.elements - first, std::int64_t{kTile}));
  const std::int64_t mine = first + threadIdx.x * kValuesPerThread;
  const float scale = __ldg(scales + (min(mine, job.elements - 1) >> job.block_shift));
  std::uint8_t bytes[kBytesPerThread];
  Element values[kValuesPerThread];
  Load(shared.load).Load(job.packed + first / 2, bytes, (valid + 1) / 2, std::uint8_t{0});
  __syncthreads();
#pragma unroll
  for (int i = 0; i < kBytesPerThread; ++i) {
    values[2 * i] = round_to<kType>(multiply_flushed(Lookup::value(bytes[i] >> 4), scale));
    values[2 * i + 1] = round_to<kType>(multiply_flushed(Lookup::value(bytes[i] & 15), scale));
  }
  Store(shared.store).Store(static_cast<Element*>(job.output) + first, values, valid);
}

// Runs the chain; plain tensors need its last launch alone.
template <class Lookup>
void launch_chain(const Job& job, const Launch& launch) {
  const float* scales = job.absmax;
  if (job.nested) {
    float* decoded = static_cast<float*>(job.workspace);
    decode_absmax<<<grid_size(job.blocks, kChainThreads * kCodesPerThread), kChainThreads, 0,
                    launch.stream>>>(job, decoded);
    launch_add_offset(decoded, job.blocks, job.nested_offset, launch.stream);
    scales = decoded;
  }
  const unsigned grid = grid_size(job.elements, kChainThreads * 2 * kBytesPerThread);
  switch (job.output_type) {
    case OutputType::kFloat16:
      decode_weight<Lookup, OutputType::kFloat16>
          <<<grid, kChainThreads, 0, launch.stream>>>(job, scales);
      break;
    case OutputType::kBfloat16:
      decode_weight<Lookup, OutputType::kBfloat16>
          <<<grid, kChainThreads, 0, launch.stream>>>(job, scales);
      break;
    case OutputType::kFloat32:
      decode_weight<Lookup, OutputType::kFloat32>
          <<<grid, kChainThreads, 0, launch.stream>>>(job, scales);
      break;
  }
}

// The decoded scales of a nested tensor.
inline std::size_t chain_workspace(const Problem& problem, const Launch&) {
  return problem.nested ? static_cast<std::size_t>(problem.blocks) * sizeof(float) : 0;
}

}  // namespace nf4bench::kernels::cuda
