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

// Four signed bytes each.
struct SignedBytes {
  std::uint32_t high;
  std::uint32_t low;
};

// Eight activations of a block as integers.
struct Quantized {
  std::uint32_t biased[8];  // 256 high + low + 128 in the low 16 bits
  int sum = 0;              // of the whole block
  float step = 0.0f;        // of the whole block; NaN where an activation is not finite

  // The bytes of four of them, `a` first.
  __device__ __forceinline__ SignedBytes bytes(int a, int b, int c, int d) const {
    const std::uint32_t ab = __byte_perm(biased[a], biased[b], 0x5140);
    const std::uint32_t cd = __byte_perm(biased[c], biased[d], 0x5140);
    return {__byte_perm(ab, cd, 0x7632), __byte_perm(ab, cd, 0x5410) ^ 0x80808080u};
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
  // Added to a number this rounds it and leaves it in the low bits: conversions are slow. The 128
  // make the low byte one without a sign. What is not finite becomes anything, which a step of NaN
  // hides.
  constexpr float kRounder = 12582912.0f + 128.0f;  // 1.5 * 2^23
  const auto round = [&](float value) {
    return __float_as_uint(__fmaf_rn(value, inverse, kRounder));
  };
  Quantized result;
  std::uint32_t sum = 0;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float2 pair = widen<kType>(pairs[i]);
    result.biased[2 * i] = round(pair.x);
    result.biased[2 * i + 1] = round(pair.y);
    // Wraps around, as the subtraction below does.
    sum += result.biased[2 * i] + result.biased[2 * i + 1];
  }
  result.sum = static_cast<int>(sum - 8 * __float_as_uint(kRounder));
#pragma unroll
  for (int i = 1; i < 8; i *= 2) result.sum += __shfl_xor_sync(0xffffffffu, result.sum, i);
  result.step = counts ? magnitude * (1.0f / kLevels) : 0.0f;
  if (largest >= kInfinity) result.step = __uint_as_float(0x7fffffffu);
  return result;
}

// Eight neighbouring activations of a token.
struct Eight {
  int token;
  int box;         // of 256 inputs, counted from the first of a range
  unsigned place;  // in the box, 0 to 31
};

// A range of boxes of 256 inputs.
struct BoxRange {
  int first;
  int count;
};

// Quantizes a range of kTokens tokens and calls use(Eight, Quantized) for all its eights; beyond
// the last token and the last input they are zeros. By all kThreads threads, of which as many warps
// do each token; each calls meanwhile() once, when its first loads are under way.
template <OutputType kType, int kThreads, int kTokens, class Meanwhile, class Use>
__device__ __forceinline__ void quantize_range(const Job& job, BoxRange boxes, Meanwhile meanwhile,
                                               Use use) {
  constexpr int kBatch = 4;  // loads under way at once
  constexpr int kStep = kThreads / 32 / kTokens;
  static_assert(kStep > 0);
  const int warp = __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x) / 32, 0);
  const unsigned place = threadIdx.x % 32;
  const int token = warp / kStep;
  const int row = static_cast<int>(job.inputs / 8);
  const int first = boxes.first * 32 + static_cast<int>(place);
  const int present = token < job.tokens ? row - first : 0;
  const auto* input = static_cast<const uint4*>(job.input) + std::int64_t{token} * row + first;
  for (int begin = warp % kStep; begin == warp % kStep || begin < boxes.count;
       begin += kBatch * kStep) {
    uint4 bits[kBatch];
#pragma unroll
    for (int i = 0; i < kBatch; ++i) {
      const int box = begin + i * kStep;
      bits[i] = make_uint4(0, 0, 0, 0);
      if (box < boxes.count && box * 32 < present) bits[i] = load_in_place(input + box * 32);
    }
    if (begin == warp % kStep) meanwhile();
#pragma unroll
    for (int i = 0; i < kBatch; ++i) {
      const int box = begin + i * kStep;
      if (box < boxes.count) use(Eight{token, box, place}, quantize<kType>(bits[i]));
    }
  }
}

}  // namespace nf4bench::kernels::cuda
