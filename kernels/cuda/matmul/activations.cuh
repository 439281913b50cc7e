#pragma once

// Activations as integers: each 64 that share a block of the weight become multiples of a step,
// their largest value being kLevels steps, and each multiple two signed bytes: 256 high + low.

#include "cuda/memory.cuh"
#include "variant.hpp"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

namespace nf4bench::kernels::cuda {

inline constexpr int kBlock = 64;           // weights whose products are summed as integers
inline constexpr float kLevels = 32639.0f;  // 127 * 256 + 127: both bytes at their largest

// Both values of a pair as float32, the low half first.
template <OutputType kType>
__device__ __forceinline__ float2 widen(std::uint32_t pair) {
  if constexpr (kType == OutputType::kBfloat16) {
    return make_float2(__uint_as_float(pair << 16), __uint_as_float(pair & 0xffff0000u));
  } else {
    return __half22float2(*reinterpret_cast<const __half2*>(&pair));
  }
}

// Eight activations of a block as integers.
struct Quantized {
  int values[8];      // the low 16 bits count
  int sum = 0;        // of the whole block
  float step = 0.0f;  // of the whole block; NaN where an activation is not finite

  // The signed bytes of four of them, `a` first: the high ones or the low ones.
  template <bool kHigh>
  __device__ __forceinline__ std::uint32_t bytes(int a, int b, int c, int d) const {
    constexpr int kSelect = kHigh ? 0x0051 : 0x0040;
    constexpr int kCarry = kHigh ? 128 : 0;  // of a negative low byte
    return __byte_perm(__byte_perm(values[a] + kCarry, values[b] + kCarry, kSelect),
                       __byte_perm(values[c] + kCarry, values[d] + kCarry, kSelect), 0x5410);
  }
};

// Quantizes the 64 activations that eight neighbouring lanes hold, eight each. By whole warps.
template <OutputType kType>
__device__ __forceinline__ Quantized quantize(uint4 bits) {
  const std::uint32_t pairs[4] = {bits.x, bits.y, bits.z, bits.w};
  std::uint32_t largest = 0;  // in both halves; magnitudes are ordered as their bits are
#pragma unroll
  for (int i = 0; i < 4; ++i) largest = __vmaxu2(largest, pairs[i] & 0x7fff7fffu);
#pragma unroll
  for (int i = 1; i < 8; i *= 2) {
    largest = __vmaxu2(largest, __shfl_xor_sync(0xffffffffu, largest, i));
  }
  largest = max(largest & 0xffffu, largest >> 16);
  constexpr std::uint32_t kInfinity = kType == OutputType::kBfloat16 ? 0x7f80u : 0x7c00u;
  const float magnitude = widen<kType>(largest).x;
  // Below this, which no output type can show, the inverse would overflow.
  const bool counts = magnitude > 1e-34f && largest < kInfinity;
  // Quarters, for it gives zero where the divisor is near the end of the range.
  const float inverse = counts ? __fdividef(kLevels * 0.25f, magnitude * 0.25f) : 0.0f;
  // Added to a number this rounds it and leaves it in the low bits: conversions are slow.
  constexpr float kRounder = 12582912.0f;  // 1.5 * 2^23
  const auto round = [&](float value) {
    return __float_as_int(__fmaf_rn(value, inverse, kRounder));
  };
  Quantized result;
  unsigned sum = 0;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float2 pair = counts ? widen<kType>(pairs[i]) : make_float2(0.0f, 0.0f);
    result.values[2 * i] = round(pair.x);
    result.values[2 * i + 1] = round(pair.y);
    // Wraps around, as the subtraction below does.
    sum += static_cast<unsigned>(result.values[2 * i]) +
           static_cast<unsigned>(result.values[2 * i + 1]);
  }
  result.sum = static_cast<int>(sum - 8 * __float_as_uint(kRounder));
#pragma unroll
  for (int i = 1; i < 8; i *= 2) result.sum += __shfl_xor_sync(0xffffffffu, result.sum, i);
  result.step = counts ? magnitude * (1.0f / kLevels) : 0.0f;
  if (largest >= kInfinity) result.step = __uint_as_float(0x7fffffffu);
  return result;
}

// Eight neighbouring activations of a token, counted from the first of a range of boxes.
struct Eight {
  int token;
  int index;
};

// A range of boxes of 256 inputs.
struct BoxRange {
  int first;
  int count;
};

// Quantizes a range of `tokens` tokens and calls use(Eight, Quantized) for all its eights; beyond
// the last token and the last input they are zeros. By all kThreads threads, a whole number of
// warps, each of which calls meanwhile() once, when its first loads are under way.
template <OutputType kType, int kThreads, class Meanwhile, class Use>
__device__ __forceinline__ void quantize_range(const Job& job, BoxRange boxes, int tokens,
                                               Meanwhile meanwhile, Use use) {
  constexpr int kBatch = 4;  // loads under way at once
  const auto* input = static_cast<const uint4*>(job.input) + boxes.first * 32;
  const int row = static_cast<int>(job.inputs / 8);
  const int eights = boxes.count * 32;  // of a token
  const int own = threadIdx.x;
  for (int begin = own; begin == own || begin < tokens * eights; begin += kBatch * kThreads) {
    uint4 bits[kBatch];
    Eight eight[kBatch];
#pragma unroll
    for (int i = 0; i < kBatch; ++i) {
      const int at = begin + i * kThreads;
      eight[i] = tokens == 1 ? Eight{at >= eights ? 1 : 0, at} : Eight{at / eights, at % eights};
      const bool inside = eight[i].token < job.tokens && boxes.first * 32 + eight[i].index < row;
      bits[i] = make_uint4(0, 0, 0, 0);
      if (inside) {
        bits[i] = load_in_place(input + std::int64_t{eight[i].token} * row + eight[i].index);
      }
    }
    if (begin == own) meanwhile();
#pragma unroll
    for (int i = 0; i < kBatch; ++i) {
      if (eight[i].token < tokens) use(eight[i], quantize<kType>(bits[i]));
    }
  }
}

}  // namespace nf4bench::kernels::cuda
