#pragma once

// Weights looked up in pairs, of which a table in shared memory has one for every byte.

#include "cuda/arithmetic.cuh"
#include "cuda/codebook.cuh"
#include "cuda/ptx.cuh"

namespace nf4bench::kernels::cuda {

// What step_to_byte() takes byte `index` of a word by.
__host__ __device__ constexpr std::uint32_t byte_factor(int index) {
  return 128u << 8 * index;
}

// base + 128 times a byte of `word`, in one instruction: where a table with 128 bytes for each has
// that byte.
__device__ __forceinline__ std::uint32_t step_to_byte(std::uint32_t word, std::uint32_t factor,
                                                      std::uint32_t base) {
  return dot_bytes(word, factor, base);
}

// What the codebook is multiplied by before it is rounded to 16 bits, and scales are divided by.
// For bfloat16 the number that leaves the smallest error: 6e-4 of the root mean square, not 1.1e-3.
template <OutputType kType>
inline constexpr float kPairFactor = kType == OutputType::kBfloat16 ? 1.437f : 1.0f;

template <OutputType kType>
__device__ __forceinline__ std::uint32_t pack_pair(float first, float second) {
  return kType == OutputType::kBfloat16 ? pack_bfloat16(first, second)
                                        : pack_float16(first, second);
}

// Fills a table of pairs of codebook values, the high nibble's in the low half, for all bytes; a
// copy for each lane, so that no two lanes meet in a bank. By the block's first kThreads threads,
// each of which writes four copies at once.
template <OutputType kType, int kThreads>
__device__ __forceinline__ void fill_pairs(std::uint8_t* pairs) {
  const float own = kCodebook[threadIdx.x % 16] * kPairFactor<kType>;
  auto* table = reinterpret_cast<uint4*>(pairs);
  for (int i = threadIdx.x; i < 256 * 8; i += kThreads) {
    const float high = __shfl_sync(0xffffffffu, own, i >> 7);
    const float low = __shfl_sync(0xffffffffu, own, i >> 3 & 15);
    const std::uint32_t pair = pack_pair<kType>(high, low);
    table[i] = make_uint4(pair, pair, pair, pair);
  }
}

}  // namespace nf4bench::kernels::cuda
