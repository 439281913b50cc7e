#pragma once

// The PTX instructions that CUDA C++ has no function for, each once: on registers, shared memory,
// tensor cores of single warps, copies of Ampere and later, named barriers, and counters that
// blocks share. What only Hopper and later have is in ptx_hopper.cuh, products of warpgroups are in
// matmul/wgmma/, and cache hints of global memory in memory.cuh.

#include "variant.hpp"

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

namespace nf4bench::kernels::cuda {

// The value, which the compiler takes for unknown: it keeps it in a register rather than work it
// out again at each use.
__device__ __forceinline__ std::uint32_t keep(std::uint32_t value) {
  asm volatile("" : "+r"(value));
  return value;
}

// Nothing that uses the values may move up across what stands before.
__device__ __forceinline__ void hold(std::uint32_t& a, std::uint32_t& b) {
  asm volatile("" : "+r"(a), "+r"(b)::"memory");
}
template <int kCount>
__device__ __forceinline__ void hold(float (&values)[kCount]) {
#pragma unroll
  for (float& value : values) asm volatile("" : "+f"(value)::"memory");
}

// Byte i of the result is byte (selector >> 4i & 7) of the eight bytes low:high; with bit 3 of the
// selector set its sign, eight times.
__device__ __forceinline__ std::uint32_t permute(std::uint32_t low, std::uint32_t high,
                                                 std::uint32_t selector) {
  std::uint32_t result;
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(result) : "r"(low), "r"(high), "r"(selector));
  return result;
}

// (a & b) | c.
__device__ __forceinline__ std::uint32_t and_or(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  std::uint32_t result;
  asm("lop3.b32 %0, %1, %2, %3, 0xea;" : "=r"(result) : "r"(a), "r"(b), "r"(c));
  return result;
}

// sum + the four products of bytes of `a` and `b`.
__device__ __forceinline__ std::uint32_t dot_bytes(std::uint32_t a, std::uint32_t b,
                                                   std::uint32_t sum) {
  std::uint32_t result;
  asm("dp4a.u32.u32 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(sum));
  return result;
}

// The two products of the halves of `a` with the lower bytes of `b`.
__device__ __forceinline__ std::uint32_t dot_halves(std::uint32_t a, std::uint32_t b) {
  std::uint32_t result;
  asm("dp2a.lo.u32.u32 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(0u));
  return result;
}

// Shared memory, by the addresses that its instructions take.
__device__ __forceinline__ std::uint32_t shared_address(const void* pointer) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}

__device__ __forceinline__ std::uint32_t load_shared_2(std::uint32_t address) {
  std::uint16_t value;
  asm volatile("ld.shared.u16 %0, [%1];" : "=h"(value) : "r"(address) : "memory");
  return value;
}

__device__ __forceinline__ std::uint32_t load_shared_4(std::uint32_t address) {
  std::uint32_t value;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(value) : "r"(address) : "memory");
  return value;
}

// The same of what nothing writes any more: the compiler may move them.
__device__ __forceinline__ std::uint32_t load_constant_4(std::uint32_t address) {
  std::uint32_t value;
  asm("ld.shared.u32 %0, [%1];" : "=r"(value) : "r"(address));
  return value;
}

__device__ __forceinline__ uint2 load_constant_8(std::uint32_t address) {
  uint2 value;
  asm("ld.shared.v2.u32 {%0, %1}, [%2];" : "=r"(value.x), "=r"(value.y) : "r"(address));
  return value;
}

__device__ __forceinline__ uint4 load_constant_16(std::uint32_t address) {
  uint4 value;
  asm("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
      : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
      : "r"(address));
  return value;
}

__device__ __forceinline__ uint2 load_shared_8(std::uint32_t address) {
  uint2 value;
  asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];"
               : "=r"(value.x), "=r"(value.y)
               : "r"(address)
               : "memory");
  return value;
}

__device__ __forceinline__ uint4 load_shared_16(std::uint32_t address) {
  uint4 value;
  asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
               : "r"(address)
               : "memory");
  return value;
}

// Four matrices of 8 x 8 16-bit values, transposed: of the i-th a lane, 4 g + t, gets column g of
// rows 2t, in the lower half, and 2t + 1. Lane 8i + r says where row r of it lies.
__device__ __forceinline__ void load_matrices(std::uint32_t (&values)[4], std::uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(values[0]), "=r"(values[1]), "=r"(values[2]), "=r"(values[3])
               : "r"(address)
               : "memory");
}

__device__ __forceinline__ void store_shared_16(std::uint32_t address, uint4 value) {
  asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(value.x),
               "r"(value.y), "r"(value.z), "r"(value.w)
               : "memory");
}

__device__ __forceinline__ void store_shared_16(std::uint32_t address, float4 value) {
  asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(address), "f"(value.x),
               "f"(value.y), "f"(value.z), "f"(value.w)
               : "memory");
}

// Copies from global to shared memory that run beside the thread, on Turing in it: kBytes bytes, 4,
// 8 or 16 as both addresses are multiples of, or zeros where `inside` is false. 16 go past L1.
template <int kBytes>
__device__ __forceinline__ void copy_async(std::uint32_t target, const void* source, bool inside) {
#if __CUDA_ARCH__ < 800
  using Value = std::conditional_t<kBytes == 16, uint4,
                                   std::conditional_t<kBytes == 8, uint2, std::uint32_t>>;
  Value value = {};
  if (inside) value = __ldg(static_cast<const Value*>(source));
  *static_cast<Value*>(__cvta_shared_to_generic(target)) = value;
#else
  if constexpr (kBytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(target), "l"(source),
                 "r"(inside ? 16 : 0)
                 : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(target), "l"(source),
                 "n"(kBytes), "r"(inside ? kBytes : 0)
                 : "memory");
  }
#endif
}

// 16 bytes, for which L2 gets the 128 around.
__device__ __forceinline__ void copy_async_by_line(std::uint32_t target, const void* source,
                                                   bool inside) {
#if __CUDA_ARCH__ < 800
  copy_async<16>(target, source, inside);
#else
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(target), "l"(source),
               "r"(inside ? 16 : 0)
               : "memory");
#endif
}

// Ends a group of this thread's copies; an empty group is allowed.
__device__ __forceinline__ void commit_copies() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

// Until all of this thread's groups but the newest kPending have arrived.
template <int kPending>
__device__ __forceinline__ void wait_for_copies() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
#endif
}

// A 64-bit counter in global memory. Relaxed: it orders nothing, and nobody waits for it.
__device__ __forceinline__ unsigned long long load_relaxed(const unsigned long long* counter) {
  unsigned long long value = 0;
  asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(counter) : "memory");
  return value;
}

// What was written before the releases that it counts can be seen from here on.
__device__ __forceinline__ unsigned long long load_acquire(const unsigned long long* counter) {
  unsigned long long value;
  asm volatile("ld.acquire.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(counter) : "memory");
  return value;
}

// Adds 1, once what this thread has written or has waited for can be seen.
__device__ __forceinline__ void increment_release(unsigned long long* counter) {
  asm volatile("red.release.gpu.global.add.u64 [%0], 1;" ::"l"(counter) : "memory");
}

// Named barriers of a block, 0 to 15, with which fewer than all of its threads meet: kThreads of
// them, multiples of a warp, of which some may only arrive.
template <int kThreads>
__device__ __forceinline__ void sync_at(int barrier) {
  asm volatile("bar.sync %0, %1;" ::"r"(barrier), "n"(kThreads) : "memory");
}
template <int kThreads>
__device__ __forceinline__ void arrive_at(int barrier) {
  asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "n"(kThreads) : "memory");
}
template <int kBarrier, int kThreads>
__device__ __forceinline__ void sync_at() {
  asm volatile("bar.sync %0, %1;" ::"n"(kBarrier), "n"(kThreads) : "memory");
}
template <int kBarrier, int kThreads>
__device__ __forceinline__ void arrive_at() {
  asm volatile("bar.arrive %0, %1;" ::"n"(kBarrier), "n"(kThreads) : "memory");
}

// Products of a warp: d += A B, with fragments as PTX lays them out. A of 16 rows x 16 inputs, B of
// 16 inputs x 8 columns, of float16 or bfloat16. Turing has no bfloat16, and half the inputs a
// product.
template <OutputType kType>
__device__ __forceinline__ void mma_m16n8k16(float (&d)[4], const std::uint32_t (&a)[4],
                                             std::uint32_t b0, std::uint32_t b1) {
#if __CUDA_ARCH__ >= 800
  if constexpr (kType == OutputType::kFloat16) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  } else {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }
#else
  static_assert(kType == OutputType::kFloat16);
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, "
        "{%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[2 * half]), "r"(a[2 * half + 1]), "r"(half == 0 ? b0 : b1));
  }
#endif
}

// Two products of float16 or bfloat16.
template <OutputType kType>
__device__ __forceinline__ std::uint32_t multiply_pair(std::uint32_t a, std::uint32_t b) {
  std::uint32_t product;
  if constexpr (kType == OutputType::kFloat16) {
    asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(product) : "r"(a), "r"(b));
  } else {
#if __CUDA_ARCH__ >= 900
    asm("mul.rn.bf16x2 %0, %1, %2;" : "=r"(product) : "r"(a), "r"(b));
#else
    // Ampere has no product alone; adding -0 leaves it as it is.
    asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(product) : "r"(a), "r"(b), "r"(0x80008000u));
#endif
  }
  return product;
}

// Of float16, with sums in float16: d[i] has those of row g + 8 i.
__device__ __forceinline__ void mma_m16n8k16_float16(std::uint32_t (&d)[2],
                                                     const std::uint32_t (&a)[4], std::uint32_t b0,
                                                     std::uint32_t b1) {
#if __CUDA_ARCH__ >= 800
  asm("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3, %4, %5}, {%6, %7}, "
      "{%0, %1};"
      : "+r"(d[0]), "+r"(d[1])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#endif
}

#if __CUDA_ARCH__ >= 800

// A of 16 rows x 32 signed bytes, B of 32 x 8.
__device__ __forceinline__ void mma_m16n8k32_signed(int (&d)[4], const std::uint32_t (&a)[4],
                                                    std::uint32_t b0, std::uint32_t b1) {
  asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// The same with unsigned bytes in A.
__device__ __forceinline__ void mma_m16n8k32_unsigned(int (&d)[4], const std::uint32_t (&a)[4],
                                                      std::uint32_t b0, std::uint32_t b1) {
  asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Barriers in shared memory. A phase takes `arrivals` arrivals, and on Hopper all bytes announced
// to it; then it ends and the next one, of the other parity, begins.
__device__ __forceinline__ void init_barrier(std::uint32_t barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

__device__ __forceinline__ void arrive(std::uint32_t barrier) {
#if __CUDA_ARCH__ >= 900
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
#else
  asm volatile(
      "{\n"
      ".reg .b64 state;\n"
      "mbarrier.arrive.shared::cta.b64 state, [%0];\n"
      "}" ::"r"(barrier)
      : "memory");
#endif
}

// Arrives once all that this thread has begun to copy is there.
__device__ __forceinline__ void arrive_with_copies(std::uint32_t barrier) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(barrier) : "memory");
}

__device__ __forceinline__ bool phase_has_ended(std::uint32_t barrier, std::uint32_t parity) {
  std::uint32_t ended;
#if __CUDA_ARCH__ >= 900
  asm volatile(
      "{\n"
      ".reg .pred ended;\n"
      "mbarrier.try_wait.parity.shared::cta.b64 ended, [%1], %2;\n"
      "selp.u32 %0, 1, 0, ended;\n"
      "}"
      : "=r"(ended)
      : "r"(barrier), "r"(parity)
      : "memory");
#else
  asm volatile(
      "{\n"
      ".reg .pred ended;\n"
      "mbarrier.test_wait.parity.shared::cta.b64 ended, [%1], %2;\n"
      "selp.u32 %0, 1, 0, ended;\n"
      "}"
      : "=r"(ended)
      : "r"(barrier), "r"(parity)
      : "memory");
#endif
  return ended != 0;
}

// Until the phase of `parity` has ended. There is no trap for a copy that never arrives: with a way
// out that producers and consumers share, ptxas gives both the fewer registers of the two.
__device__ __forceinline__ void wait_for_phase(std::uint32_t barrier, std::uint32_t parity) {
#pragma unroll 1
  while (!phase_has_ended(barrier, parity)) {
  }
}

#endif

}  // namespace nf4bench::kernels::cuda
