#pragma once

// What mma_table says in PTX.

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

// base + 128 times byte `index` of `word`, in one instruction.
__device__ __forceinline__ std::uint32_t step_to_byte(std::uint32_t word, int index,
                                                      std::uint32_t base) {
  std::uint32_t result;
  asm("dp4a.u32.u32 %0, %1, %2, %3;"
      : "=r"(result)
      : "r"(word), "r"(0x80u << (8 * index)), "r"(base));
  return result;
}

// Copies kBytes bytes, 4, 8 or 16 as both addresses are multiples of, or writes zeros where
// `inside` is false. With 16 of them L2 gets the 128 around.
template <int kBytes>
__device__ __forceinline__ void copy_bytes(std::uint32_t target, const void* source, bool inside) {
  if constexpr (kBytes == 16) {
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(target),
                 "l"(source), "r"(inside ? 16 : 0)
                 : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(target), "l"(source),
                 "n"(kBytes), "r"(inside ? kBytes : 0)
                 : "memory");
  }
}

#endif

__device__ __forceinline__ std::uint32_t load_shared_word(std::uint32_t address) {
  std::uint32_t value;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(value) : "r"(address) : "memory");
  return value;
}

__device__ __forceinline__ void store_shared_16(std::uint32_t address, uint4 value) {
  asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(value.x),
               "r"(value.y), "r"(value.z), "r"(value.w)
               : "memory");
}

}  // namespace nf4bench::kernels::cuda
