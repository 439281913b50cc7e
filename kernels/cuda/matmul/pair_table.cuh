#pragma once

// Weights looked up in pairs, of which a table in shared memory has one for every byte.

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

}  // namespace nf4bench::kernels::cuda
