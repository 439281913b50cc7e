#pragma once

// What the faster CPU variants share: conversions, scales, and the split into parts for threads.
// `reference` uses none of it.

#include "cpu/thread_team.hpp"
#include "nf4/arithmetic.hpp"
#include "nf4/format.hpp"
#include "variant.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <type_traits>

namespace nf4bench::kernels::cpu {

// codebook_value(), in memory once rather than built where it is used.
inline constexpr float kCodebook[kCodes] = {
    codebook_value(0),  codebook_value(1),  codebook_value(2),  codebook_value(3),
    codebook_value(4),  codebook_value(5),  codebook_value(6),  codebook_value(7),
    codebook_value(8),  codebook_value(9),  codebook_value(10), codebook_value(11),
    codebook_value(12), codebook_value(13), codebook_value(14), codebook_value(15)};

// The unsigned integer that holds one output of `kType`.
template <OutputType kType>
using OutputBits = std::conditional_t<kType == OutputType::kFloat32, std::uint32_t, std::uint16_t>;

// The bits that `value` is stored as in an output of `kType`.
template <OutputType kType>
inline OutputBits<kType> to_output_bits(float value) {
  if constexpr (kType == OutputType::kFloat16) {
    return nf4::to_float16_bits(value);
  } else if constexpr (kType == OutputType::kBfloat16) {
    return nf4::to_bfloat16_bits(value);
  } else {
    return nf4::bits_of(value);
  }
}

// The value of an output that is stored as `bits`.
template <OutputType kType>
inline float from_output_bits(OutputBits<kType> bits) {
  if constexpr (kType == OutputType::kFloat16) {
    return nf4::from_float16_bits(bits);
  } else if constexpr (kType == OutputType::kBfloat16) {
    return nf4::from_bfloat16_bits(bits);
  } else {
    return nf4::float_of(bits);
  }
}

// What a product's output `n` is once its sum is whole, with the bias, rounded once.
template <OutputType kType>
inline OutputBits<kType> finish_output(const Job& job, std::int64_t n, float sum) {
  const auto* const bias = static_cast<const OutputBits<kType>*>(job.bias);
  return to_output_bits<kType>(bias == nullptr ? sum : sum + from_output_bits<kType>(bias[n]));
}

// The scale of `block`.
inline float block_scale(const Job& job, std::int64_t block) {
  if (!job.nested) return job.absmax[block];
  return nf4::nested_scale(job.nested_map[job.absmax_codes[block]],
                           job.nested_absmax[block / kNestedBlocksize], *job.nested_offset);
}

// Consecutive blocks, or consecutive items of any kind.
struct Range {
  std::int64_t first = 0;
  std::int64_t last = 0;
};

// Elements that one thread decodes before it takes the next part: far above the cost of starting
// one, and small enough that the parts even out.
inline constexpr std::int64_t kPartElements = std::int64_t{1} << 16;

// Items of so many elements each.
struct Items {
  std::int64_t count = 0;
  std::int64_t elements_per_item = 1;
};

// Calls body(range) for ranges that cover all items, from the threads that `launch` allows: see
// run_parts(). A single range runs on the caller's thread.
template <typename Body>
void for_each_part(const Launch& launch, const Items& of, const Body& body) {
  const std::int64_t items = std::max<std::int64_t>(1, kPartElements / of.elements_per_item);
  const std::int64_t parts = block_count(of.count, items);
  const auto one_part = [&](std::int64_t part) {
    body(Range{part * items, std::min((part + 1) * items, of.count)});
  };
  run_parts(launch.device.multiprocessors, parts, std::ref(one_part));
}

}  // namespace nf4bench::kernels::cpu
