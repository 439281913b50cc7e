#pragma once

// The exact arithmetic of nf4/arithmetic.hpp as device instructions.

#include "cuda/memory.cuh"
#include "nf4/format.hpp"
#include "variant.hpp"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

namespace nf4bench::kernels::cuda {

// a * b rounded to nearest even, subnormal inputs and results flushed to signed zero.
__device__ __forceinline__ float multiply_flushed(float a, float b) {
  float product;
  asm("mul.rn.ftz.f32 %0, %1, %2;" : "=f"(product) : "f"(a), "f"(b));
  return product;
}

// Read from memory, as the libraries read it, so that nobody has to bring it to the host.
__device__ __forceinline__ float nested_offset(const Job& job) {
  return __ldg(job.nested_offset);
}

// The scale of `block`. Nested: two roundings, the addition not flushed.
template <bool kNested, class Index>
__device__ __forceinline__ float block_scale(const Job& job, Index block) {
  if constexpr (kNested) {
    std::uint32_t code = __ldg(job.absmax_codes + block);
    asm("" : "+r"(code));  // else a byte times four becomes shift, mask and 64-bit sum
    const float value = __ldg(job.nested_map + code);
    static_assert(kNestedBlocksize == 1 << 8);
    const float absmax = __ldg(job.nested_absmax + (block >> 8));
    return __fadd_rn(multiply_flushed(value, absmax), nested_offset(job));
  } else {
    return __ldg(job.absmax + block);
  }
}

// Has L2 fetch what a block's scale is made of.
__device__ __forceinline__ void prefetch_scale(const Job& job, std::int64_t block) {
  prefetch_l2(job.nested ? static_cast<const void*>(job.absmax_codes + block) : job.absmax + block);
}

// What codes of nested absmax become scales with: the nested map, in shared memory, and the offset.
struct NestedMap {
  const float* values;
  float offset;

  __device__ __forceinline__ float scale(std::uint32_t code, float absmax) const {
    return __fadd_rn(multiply_flushed(values[code], absmax), offset);
  }
};

// Two values rounded to float16, `first` in the low half.
__device__ __forceinline__ std::uint32_t pack_float16(float first, float second) {
  const __half2 pair = __floats2half2_rn(first, second);
  return *reinterpret_cast<const std::uint32_t*>(&pair);
}

// Two values rounded to bfloat16, `first` in the low half. The inputs are results of arithmetic, so
// that the only NaN is the canonical 0x7fffffff.
__device__ __forceinline__ std::uint32_t pack_bfloat16(float first, float second) {
#if __CUDA_ARCH__ >= 800
  const __nv_bfloat162 pair = __floats2bfloat162_rn(first, second);
  return *reinterpret_cast<const std::uint32_t*>(&pair);
#else
  // Turing has no such conversion. Nearest even by integer carry; the minimum keeps the canonical
  // NaN from carrying into the sign: 0x7fff7fff + 0x8000 is 0x7fffffff, still a NaN.
  const int a = min(__float_as_int(first), 0x7fff7fff);
  const int b = min(__float_as_int(second), 0x7fff7fff);
  const std::uint32_t rounded_a = a + 0x7fff + ((a >> 16) & 1);
  const std::uint32_t rounded_b = b + 0x7fff + ((b >> 16) & 1);
  return __byte_perm(rounded_a, rounded_b, 0x7632);
#endif
}

// One value rounded to the output type, as raw bits of a type of its width.
template <OutputType kType>
__device__ __forceinline__ auto round_to(float value) {
  if constexpr (kType == OutputType::kFloat32) {
    return value;
  } else if constexpr (kType == OutputType::kFloat16) {
    return static_cast<std::uint16_t>(pack_float16(value, 0.0f));
  } else {
    return static_cast<std::uint16_t>(pack_bfloat16(value, 0.0f));
  }
}

// What a product's bias adds to the sums of output `n`: without one negative zero, which changes no
// sum.
template <OutputType kType>
__device__ __forceinline__ float bias_of(const Job& job, std::int64_t n) {
  static_assert(kType != OutputType::kFloat32);
  if (job.bias == nullptr) return -0.0f;
  const std::uint16_t bits = __ldg(static_cast<const std::uint16_t*>(job.bias) + n);
  if constexpr (kType == OutputType::kFloat16) {
    return __half2float(__ushort_as_half(bits));
  } else {
    return __uint_as_float(std::uint32_t{bits} << 16);
  }
}

// The same for a type that is known at run time.
__device__ __forceinline__ float bias_of(const Job& job, std::int64_t n) {
  return job.output_type == OutputType::kFloat16 ? bias_of<OutputType::kFloat16>(job, n)
                                                 : bias_of<OutputType::kBfloat16>(job, n);
}

// An output of a product, its sum being whole: with the bias, rounded once.
template <OutputType kType>
__device__ __forceinline__ std::uint16_t finish_output(const Job& job, std::int64_t n, float sum) {
  return round_to<kType>(__fadd_rn(sum, bias_of<kType>(job, n)));
}

}  // namespace nf4bench::kernels::cuda
