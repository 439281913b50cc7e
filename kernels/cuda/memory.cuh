#pragma once

// Ways to access memory with different cache hints: types with a load() and a store(), of which a
// kernel takes one as its template parameter, and functions for single accesses.

#include <cstdint>

namespace nf4bench::kernels::cuda {

// Default caching on both sides.
struct PlainAccess {
  template <class T>
  __device__ static __forceinline__ T load(const T* address) {
    return __ldg(address);
  }
  __device__ static __forceinline__ void store(uint4* address, uint4 value) { *address = value; }
};

// Streaming on both sides: the lines are the first to leave the caches (ld.cs, st.cs).
struct StreamingAccess {
  template <class T>
  __device__ static __forceinline__ T load(const T* address) {
    return __ldcs(address);
  }
  __device__ static __forceinline__ void store(uint4* address, uint4 value) {
    __stcs(address, value);
  }
};

// Loads of what no kernel under way writes, which stay where they stand among other volatile
// instructions, so that they are asked for before copies that come behind them.
__device__ __forceinline__ uint4 load_in_place(const uint4* address) {
  uint4 value;
  asm volatile("ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
               : "l"(address));
  return value;
}

__device__ __forceinline__ float load_in_place(const float* address) {
  float value;
  asm volatile("ld.global.nc.f32 %0, [%1];" : "=f"(value) : "l"(address));
  return value;
}

// Stores if `is_one`, without a branch.
__device__ __forceinline__ void store_if(bool is_one, void* address, std::uint16_t value) {
  asm volatile(
      "{ .reg .pred p; setp.ne.b32 p, %0, 0; @p st.global.b16 [%1], %2; }" ::"r"(is_one ? 1 : 0),
      "l"(address), "h"(value));
}
__device__ __forceinline__ void store_if(bool is_one, void* address, std::uint32_t value) {
  asm volatile(
      "{ .reg .pred p; setp.ne.b32 p, %0, 0; @p st.global.b32 [%1], %2; }" ::"r"(is_one ? 1 : 0),
      "l"(address), "r"(value));
}
__device__ __forceinline__ void store_if(bool is_one, void* address, std::uint32_t first,
                                         std::uint32_t second) {
  asm volatile("{ .reg .pred p; setp.ne.b32 p, %0, 0; @p st.global.v2.b32 [%1], {%2, %3}; }" ::"r"(
                   is_one ? 1 : 0),
               "l"(address), "r"(first), "r"(second));
}

// Has L2 fetch the line of an address.
__device__ __forceinline__ void prefetch_l2(const void* address) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(address));
}

// An L2 policy that evicts the lines it touches first. Ampere and later.
__device__ __forceinline__ std::uint64_t evict_first_policy() {
  std::uint64_t policy = 0;
#if __CUDA_ARCH__ >= 800
  asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
#endif
  return policy;
}

// Stores with the evict-first policy in L2, streaming before Ampere.
__device__ __forceinline__ void store_evict_first(uint4* address, uint4 value,
                                                  std::uint64_t policy) {
#if __CUDA_ARCH__ >= 800
  asm volatile("st.global.L2::cache_hint.v4.u32 [%0], {%1, %2, %3, %4}, %5;" ::"l"(address),
               "r"(value.x), "r"(value.y), "r"(value.z), "r"(value.w), "l"(policy)
               : "memory");
#else
  __stcs(address, value);
#endif
}

// Loads past L1 with the evict-first policy in L2, streaming before Ampere.
__device__ __forceinline__ std::uint32_t load_evict_first(const std::uint32_t* address,
                                                          std::uint64_t policy) {
#if __CUDA_ARCH__ >= 800
  std::uint32_t value;
  asm volatile("ld.global.nc.L1::no_allocate.L2::cache_hint.u32 %0, [%1], %2;"
               : "=r"(value)
               : "l"(address), "l"(policy));
  return value;
#else
  return __ldcs(address);
#endif
}

__device__ __forceinline__ std::uint16_t load_evict_first(const std::uint16_t* address,
                                                          std::uint64_t policy) {
#if __CUDA_ARCH__ >= 800
  std::uint16_t value;
  asm volatile("ld.global.nc.L1::no_allocate.L2::cache_hint.u16 %0, [%1], %2;"
               : "=h"(value)
               : "l"(address), "l"(policy));
  return value;
#else
  return __ldcs(address);
#endif
}

}  // namespace nf4bench::kernels::cuda
