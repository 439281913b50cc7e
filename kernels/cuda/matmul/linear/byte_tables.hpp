#pragma once

// The codebook as integers of signed bytes that prmt looks up, with the packed weight as its
// selectors: three bits of a nibble choose one of eight bytes, and bit 3 replicates that byte's
// sign. So prmt(bytes of codes 0 to 7, w) gives the bytes of the low codes, and 0 or -1 for the
// high ones; prmt(bytes of codes 8 to 15, w ^ 0x88888888) the other way round. The bytes are chosen
// so that the sum of both is right, and the tensor core adds them.

#include "nf4/format.hpp"

#include <cstdint>

namespace nf4bench::kernels::cuda {

struct ByteTable {
  std::uint32_t words[4];  // bytes of codes 0 to 3, 4 to 7, 8 to 11, 12 to 15
};

// The bytes that stand for codes `code` and `code + 8`.
struct BytePair {
  int low;
  int high;
  bool found;
};

// Each makes up for the -1 that a negative partner adds. There are none where one value is 127 and
// the other negative, nor for values that no byte holds.
constexpr BytePair find_bytes(int low_value, int high_value) {
  for (int signs = 0; signs < 4; ++signs) {
    const int low_negative = signs & 1;
    const int high_negative = signs >> 1;
    const int low = low_value + high_negative;
    const int high = high_value + low_negative;
    if ((low < 0) == (low_negative == 1) && (high < 0) == (high_negative == 1) && low >= -128 &&
        low <= 127 && high >= -128 && high <= 127) {
      return {low, high, true};
    }
  }
  return {0, 0, false};
}

// Of the values that `value_of` gives the 16 codes. Not constant, so that it does not compile,
// where there are no bytes.
template <class Function>
constexpr ByteTable make_byte_table(Function value_of) {
  ByteTable table = {};
  for (int code = 0; code < 8; ++code) {
    const BytePair bytes = find_bytes(value_of(code), value_of(code + 8));
    if (!bytes.found) throw "no pair of bytes";
    const int shift = code % 4 * 8;
    table.words[code / 4] |= (static_cast<std::uint32_t>(bytes.low) & 255u) << shift;
    table.words[2 + code / 4] |= (static_cast<std::uint32_t>(bytes.high) & 255u) << shift;
  }
  return table;
}

constexpr int round_to_integer(double value) {
  return static_cast<int>(value < 0 ? value - 0.5 : value + 0.5);
}

//   codebook[code] = (kLineSlope * code + kLineIntercept + residual_of(code)) / kLineSteps
//
// almost. Of those with which 0 and 1 are exact, so that a weight of zeros adds nothing, the line
// and the steps that leave the smallest error: 4.0e-4 of a normal weight's root mean square.
inline constexpr double kLineSteps = 1037;
inline constexpr double kLineSlope = 124.375;
inline constexpr double kLineIntercept = -7 * kLineSlope - 38;

constexpr int residual_of(int code) {
  return round_to_integer(nf4::codebook_value(code) * kLineSteps - kLineSlope * code -
                          kLineIntercept);
}

static_assert(kLineSlope * 7 + kLineIntercept + residual_of(7) == 0);
static_assert(kLineSlope * 15 + kLineIntercept + residual_of(15) == kLineSteps);

}  // namespace nf4bench::kernels::cuda
