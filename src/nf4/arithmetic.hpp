#pragma once

// The exact arithmetic of bitsandbytes' CUDA path, in portable form. Every other implementation
// must give the same bits. bitsandbytes is built with --use_fast_math, so its multiplications flush
// subnormal inputs and results to signed zero; torch, which adds the offset, does not. Compile with
// -ffp-contract=off: a contracted multiply-add changes scales by an ulp.

#include "nf4/format.hpp"

#include <cstdint>
#include <cstring>

namespace nf4bench::nf4 {

NF4BENCH_HOST_DEVICE inline std::uint32_t bits_of(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

NF4BENCH_HOST_DEVICE inline float float_of(std::uint32_t bits) {
  float value = 0.0f;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

// `value`, or zero of the same sign when it is subnormal.
NF4BENCH_HOST_DEVICE inline float flush_subnormal(float value) {
  const std::uint32_t bits = bits_of(value);
  return (bits & 0x7f800000u) == 0 ? float_of(bits & 0x80000000u) : value;
}

// a * b rounded to nearest even, subnormal inputs and results flushed to signed zero.
inline float multiply_flushed(float a, float b) {
  return flush_subnormal(flush_subnormal(a) * flush_subnormal(b));
}

// The scale of a block with nested absmax: two roundings, no fused multiply-add.
inline float nested_scale(float map_value, float nested_absmax, float nested_offset) {
  return multiply_flushed(map_value, nested_absmax) + nested_offset;
}

// IEEE binary16 bits of `value`, round to nearest even; subnormal results are kept, NaN is 0x7fff.
NF4BENCH_HOST_DEVICE inline std::uint16_t to_float16_bits(float value) {
  const std::uint32_t bits = bits_of(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000u;
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return 0x7fff;
  if (magnitude >= 0x477ff000u) return static_cast<std::uint16_t>(sign | 0x7c00u);  // >= 65520
  if (magnitude < 0x38800000u) {  // below 2^-14: a binary16 subnormal, unit 2^-24
    if (magnitude < 0x33000000u) return static_cast<std::uint16_t>(sign);  // below half a unit
    const std::uint32_t shift = 126u - (magnitude >> 23);
    const std::uint32_t significand = (magnitude & 0x7fffffu) | 0x800000u;
    const std::uint32_t kept = significand >> shift;
    const std::uint32_t rest = significand & ((1u << shift) - 1u);
    const std::uint32_t half = 1u << (shift - 1u);
    const std::uint32_t up = rest > half || (rest == half && (kept & 1u) != 0) ? 1u : 0u;
    return static_cast<std::uint16_t>(sign | (kept + up));
  }
  const std::uint32_t rounded = magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u);
  return static_cast<std::uint16_t>(sign | (rounded >> 13));
}

// bfloat16 bits of `value`, round to nearest even; NaN is 0x7fff.
NF4BENCH_HOST_DEVICE inline std::uint16_t to_bfloat16_bits(float value) {
  const std::uint32_t bits = bits_of(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fff;
  return static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

// The value of IEEE binary16 bits, exact.
inline float from_float16_bits(std::uint16_t bits) {
  const std::uint32_t sign = (bits & 0x8000u) << 16;
  const std::uint32_t magnitude = bits & 0x7fffu;
  if (magnitude >= 0x7c00u) return float_of(sign | 0x7f800000u | (magnitude & 0x3ffu) << 13);
  if (magnitude >= 0x400u) return float_of(sign | ((magnitude << 13) + 0x38000000u));
  // Subnormal, unit 2^-24: 0.5 has that as its last place.
  return float_of(sign | bits_of(float_of(0x3f000000u + magnitude) - 0.5f));
}

// The value of bfloat16 bits, exact.
inline float from_bfloat16_bits(std::uint16_t bits) {
  return float_of(std::uint32_t{bits} << 16);
}

}  // namespace nf4bench::nf4
