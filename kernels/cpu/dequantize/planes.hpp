#pragma once

// The 16 outputs that the codes of one block have, kept as byte planes, and the scalar code that
// fills and reads them.

#include "cpu/job_parts.hpp"

#include <cstdint>
#include <cstring>

namespace nf4bench::kernels::cpu {

// Plane p holds byte p of the 16 outputs, so that one byte shuffle looks it up.
template <OutputType kType>
struct alignas(16) Planes {
  static constexpr std::size_t kPlanes = size_in_bytes(kType);
  std::uint8_t bytes[kPlanes][kCodes];

  OutputBits<kType> get(int code) const {
    std::uint32_t bits = 0;
    for (std::size_t p = 0; p < kPlanes; ++p) bits |= std::uint32_t{bytes[p][code]} << (8 * p);
    return static_cast<OutputBits<kType>>(bits);
  }
};

// Under any scale: zero, subnormal, infinite and NaN included.
template <OutputType kType>
inline void build_planes_exactly(float scale, Planes<kType>& planes) {
  for (int code = 0; code < kCodes; ++code) {
    const auto bits = to_output_bits<kType>(nf4::multiply_flushed(kCodebook[code], scale));
    for (std::size_t p = 0; p < Planes<kType>::kPlanes; ++p) {
      planes.bytes[p][code] = static_cast<std::uint8_t>(bits >> (8 * p));
    }
  }
}

// `count` elements from the start of `packed`, one at a time.
template <OutputType kType>
inline void decode_singly(const std::uint8_t* packed, std::int64_t count,
                          const Planes<kType>& planes, std::uint8_t* output) {
  for (std::int64_t i = 0; i < count; ++i) {
    const int pair = packed[i / 2];
    const OutputBits<kType> bits = planes.get(i % 2 == 0 ? pair >> 4 : pair & 15);
    std::memcpy(output + i * static_cast<std::int64_t>(sizeof(bits)), &bits, sizeof(bits));
  }
}

}  // namespace nf4bench::kernels::cpu
