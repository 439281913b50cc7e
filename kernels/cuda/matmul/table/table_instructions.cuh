#pragma once

// What mma_table says in PTX.

#include "cuda/matmul/pair_table.cuh"

#include <cstdint>

namespace nf4bench::kernels::cuda {

#if __CUDA_ARCH__ >= 800

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
