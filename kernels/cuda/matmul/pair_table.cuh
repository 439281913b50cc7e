#pragma once

// Weights looked up in pairs, of which a table in shared memory has one for every byte, and the
// product of a warp that takes them.

#include "variant.hpp"

#include <cstdint>

namespace nf4bench::kernels::cuda {

#if __CUDA_ARCH__ >= 800

// sum += A B: A of 16 rows x 16, B of 16 x 8, as mma.m16n8k16 lays them out.
template <OutputType kType>
__device__ __forceinline__ void mma_16_inputs(float (&sum)[4], const std::uint32_t (&a)[4],
                                              std::uint32_t b0, std::uint32_t b1) {
  if constexpr (kType == OutputType::kFloat16) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  } else {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }
}

// What step_to_byte() takes byte `index` of a word by.
__host__ __device__ constexpr std::uint32_t byte_factor(int index) {
  return 128u << 8 * index;
}

// base + 128 times a byte of `word`, in one instruction: where a table with 128 bytes for each has
// that byte.
__device__ __forceinline__ std::uint32_t step_to_byte(std::uint32_t word, std::uint32_t factor,
                                                      std::uint32_t base) {
  std::uint32_t result;
  asm("dp4a.u32.u32 %0, %1, %2, %3;" : "=r"(result) : "r"(word), "r"(factor), "r"(base));
  return result;
}

// Two 16-bit values of a table that nothing writes any more.
__device__ __forceinline__ std::uint32_t load_pair(std::uint32_t address) {
  std::uint32_t pair;
  asm("ld.shared.u32 %0, [%1];" : "=r"(pair) : "r"(address));
  return pair;
}

#endif

}  // namespace nf4bench::kernels::cuda
