#pragma once

// What is done once before the weight is multiplied. The activations become wgmma's B operand:
// float16, in the order and the swizzle in which the tensor cores read them, so that a stage of the
// ring is one plain copy. Rows of the weight get factors that bring their scales into the range of
// float16.

#include "cuda/dependent_launch.cuh"
#include "cuda/matmul/activations.cuh"
#include "variant.hpp"

namespace nf4bench::kernels::cuda {

// A power of two for each row of the weight, such that no scale of the row times its factor is
// greater than 2^14.
struct RowFactors {
  float* values;
};

// What the kernel leaves in the workspace.
struct TokenImage {
  std::uint8_t* operands;  // [group of tokens][quarter of a stage][token][128 bytes]
  float* scales;           // what a token's products are to be multiplied by, [group][token]
  RowFactors factors;
  int* counters;  // zeros
};

// How the blocks of threads share the work: each does a part of a token's quarters, or of several
// tokens', and some of the rows.
struct TokenShape {
  int quarters;       // of all stages, zeros beyond the last input
  int tokens;         // of a group, zeros beyond the last token
  int all_tokens;     // of all groups
  int parts;          // of a token
  int part_quarters;  // the last part may be short
  int counters;       // to be zeroed
};

// So few that a block finds room beside one of the kernel before, and is there when that ends.
inline constexpr int kArrangeThreads = 128;

// The largest value that the threads of a block have.
__device__ __forceinline__ std::uint32_t largest_of_block(std::uint32_t own) {
  __shared__ std::uint32_t of_warps[kArrangeThreads / 32];
  own = __reduce_max_sync(0xffffffffu, own);
  __syncthreads();  // all have read what was there before
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = own;
  __syncthreads();
#pragma unroll
  for (const std::uint32_t each : of_warps) own = max(own, each);
  return own;
}

// The power of two that brings a token's finite activations below 2^15. Bfloat16 has a wider range
// than float16, in which all but the smallest are then exact: 2^-29 of the largest and up.
template <OutputType kType>
__device__ __forceinline__ int token_exponent(const Job& job, int token) {
  if constexpr (kType == OutputType::kFloat16) return 0;
  const auto* input = static_cast<const uint4*>(job.input) + std::int64_t{token} * (job.inputs / 8);
  const int count = static_cast<int>(job.inputs / 8);
  std::uint32_t largest = 0;  // in both halves; magnitudes are ordered as their bits are
#pragma unroll 8
  for (int i = static_cast<int>(threadIdx.x); i < count; i += kArrangeThreads) {
    const uint4 bits = __ldg(input + i);
    for (const std::uint32_t pair : {bits.x, bits.y, bits.z, bits.w}) {
      const std::uint32_t magnitudes = pair & 0x7fff7fffu;
      largest = __vmaxu2(largest, magnitudes & __vcmpltu2(magnitudes, 0x7f807f80u));
    }
  }
  largest = largest_of_block(max(largest & 0xffffu, largest >> 16));
  const int exponent = static_cast<int>(largest >> 7) - 127;
  return largest == 0 ? 0 : max(-100, min(100, 14 - exponent));
}

// Two activations as float16, times a power of two.
template <OutputType kType>
__device__ __forceinline__ std::uint32_t rescale(std::uint32_t pair, float factor) {
  if constexpr (kType == OutputType::kFloat16) return pair;
  const float2 values = widen<kType>(pair);
  const __half2 result = __floats2half2_rn(values.x * factor, values.y * factor);
  return *reinterpret_cast<const std::uint32_t*>(&result);
}

// The factor for scales of up to `bound`. 1 where a scale is no finite number: that is what the row
// becomes then.
__device__ __forceinline__ float factor_for(float bound) {
  if (!(bound > 0.0f && bound < __uint_as_float(0x7f800000u))) return 1.0f;
  const int exponent = static_cast<int>(__float_as_uint(bound) >> 23) - 127;
  return exp2f(static_cast<float>(max(-120, min(120, 13 - exponent))));
}

// The largest magnitude among the nested absmax of a row, as bits.
__device__ __forceinline__ std::uint32_t largest_nested(const Job& job, std::int64_t row) {
  const std::int64_t first = row * job.inputs >> job.block_shift >> 8;
  const std::int64_t last = ((row + 1) * job.inputs - 1) >> job.block_shift >> 8;
  std::uint32_t largest = 0;
  for (std::int64_t i = first; i <= last; ++i) {
    largest = max(largest, __float_as_uint(__ldg(job.nested_absmax + i)) & 0x7fffffffu);
  }
  return largest;
}

// The bound of all scales of a row, by a warp.
__device__ __forceinline__ float bound_plain(const Job& job, std::int64_t row) {
  const std::int64_t first = row * job.inputs >> job.block_shift;
  const std::int64_t last = ((row + 1) * job.inputs - 1) >> job.block_shift;
  std::uint32_t largest = 0;
#pragma unroll 4
  for (std::int64_t i = first + threadIdx.x % 32; i <= last; i += 32) {
    largest = max(largest, __float_as_uint(__ldg(job.absmax + i)) & 0x7fffffffu);
  }
  return __uint_as_float(__reduce_max_sync(0xffffffffu, largest));
}

__device__ __forceinline__ void find_factors(const Job& job, const RowFactors& factors) {
  const auto blocks = static_cast<std::int64_t>(gridDim.x);
  if (!job.nested) {
    constexpr int kWarps = kArrangeThreads / 32;
    for (std::int64_t row = blockIdx.x * kWarps + threadIdx.x / 32; row < job.outputs;
         row += blocks * kWarps) {
      const float factor = factor_for(bound_plain(job, row));
      if (threadIdx.x % 32 == 0) factors.values[row] = factor;
    }
    return;
  }
  std::uint32_t entry = 0;
#pragma unroll
  for (int i = 0; i < 256; i += kArrangeThreads) {
    entry = max(entry, __float_as_uint(__ldg(job.nested_map + i + threadIdx.x)) & 0x7fffffffu);
  }
  const float map_bound = __uint_as_float(largest_of_block(entry));
  for (std::int64_t row = blockIdx.x * kArrangeThreads + threadIdx.x; row < job.outputs;
       row += blocks * kArrangeThreads) {
    const float bound =
        map_bound * __uint_as_float(largest_nested(job, row)) + fabsf(job.nested_offset);
    factors.values[row] = factor_for(bound);
  }
}

// Brings what find_factors() reads of a nested tensor into L2. The weight is there before the
// kernel before this one ends; only the workspace may be in use until then.
__device__ __forceinline__ void prefetch_factors(const Job& job) {
  if (!job.nested) return;
  const std::int64_t count = ((job.blocks - 1) >> 8) + 1;
  const auto prefetch = [](const float* address) {
    asm volatile("prefetch.global.L2 [%0];" ::"l"(address) : "memory");
  };
  if (blockIdx.x == 0 && threadIdx.x < 32) prefetch(job.nested_map + threadIdx.x * 8);
  for (std::int64_t line = blockIdx.x * kArrangeThreads + threadIdx.x; line * 32 < count;
       line += static_cast<std::int64_t>(gridDim.x) * kArrangeThreads) {
    prefetch(job.nested_absmax + line * 32);
  }
}

// A part of a token. Of 256 inputs lane t of a quad multiplies the t-th 64: in the q-th quarter 16
// neighbours, of which the s-th step takes four. So a piece of eight values, half a step, takes a
// pair of inputs from each 64.
template <OutputType kType>
__device__ __forceinline__ void arrange_token(const Job& job, const TokenImage& image,
                                              const TokenShape& shape, int token, int part) {
  const bool exists = token < job.tokens;
  const int exponent = exists ? token_exponent<kType>(job, token) : 0;
  if (part == 0 && threadIdx.x == 0) {
    image.scales[token] = exp2f(static_cast<float>(-exponent));
  }
  const float factor = exp2f(static_cast<float>(exponent));
  const auto* input =
      static_cast<const std::uint32_t*>(job.input) + std::int64_t{token} * (job.inputs / 2);
  const int row = token % shape.tokens;  // of its group
  std::uint8_t* group =
      image.operands + static_cast<std::int64_t>(token - row) * shape.quarters * 128;
  const int first = part * shape.part_quarters;
  const int last = min(first + shape.part_quarters, shape.quarters);
#pragma unroll 2
  for (int i = first * 8 + static_cast<int>(threadIdx.x); i < last * 8; i += kArrangeThreads) {
    const int quarter = i / 8;
    const int piece = i % 8;
    std::uint32_t pairs[4];
#pragma unroll
    for (int t = 0; t < 4; ++t) {
      const int block = quarter / 4 * 4 + t;  // of 64 inputs
      const bool inside = exists && block < job.inputs / 64;
      const int at = block * 32 + quarter % 4 * 8 + piece;
      pairs[t] = inside ? rescale<kType>(__ldg(input + at), factor) : 0;
    }
    auto* target = reinterpret_cast<uint4*>(
        group + (static_cast<std::int64_t>(quarter) * shape.tokens + row) * 128);
    target[piece ^ (row & 7)] = make_uint4(pairs[0], pairs[1], pairs[2], pairs[3]);
  }
}

template <OutputType kType>
__global__ void __launch_bounds__(kArrangeThreads)
    arrange_tokens(const __grid_constant__ Job job, const TokenImage image,
                   const TokenShape shape) {
  allow_next_kernel();
  prefetch_factors(job);
  wait_for_previous_kernel();
  if (blockIdx.x == 0) {
    for (int i = threadIdx.x; i < shape.counters; i += blockDim.x) image.counters[i] = 0;
  }
  for (int i = static_cast<int>(blockIdx.x); i < shape.all_tokens * shape.parts; i += gridDim.x) {
    arrange_token<kType>(job, image, shape, i / shape.parts, i % shape.parts);
  }
  find_factors(job, image.factors);
}

}  // namespace nf4bench::kernels::cuda
