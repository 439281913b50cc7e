#include "fuzz/second_decoder.hpp"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <limits>

namespace nf4bench::fuzz {
namespace {

struct Digits {
  int significand;     // without the leading one
  int least_exponent;  // of normal values
  int greatest_exponent;
};

Digits digits_of(nf4::OutputType type) {
  switch (type) {
    case nf4::OutputType::kFloat16:
      return {10, -14, 15};
    case nf4::OutputType::kBfloat16:
      return {7, -126, 127};
    case nf4::OutputType::kFloat32:
      break;
  }
  return {23, -126, 127};
}

double without_subnormal(double value) {
  return std::fabs(value) < FLT_MIN ? std::copysign(0.0, value) : value;
}

// As kernels multiply that are built with --use_fast_math.
float product(float a, float b) {
  const auto rounded = static_cast<float>(without_subnormal(a) * without_subnormal(b));
  return static_cast<float>(without_subnormal(rounded));
}

float scale_of(const nf4::Nf4Tensor& tensor, std::size_t block) {
  if (!tensor.is_nested()) return tensor.absmax[block];
  const float absmax = product(tensor.nested_map[tensor.absmax_codes[block]],
                               tensor.nested_absmax[block / nf4::kNestedBlocksize]);
  return static_cast<float>(double{absmax} + double{tensor.nested_offset});
}

}  // namespace

float second_decode(const nf4::Nf4Tensor& tensor, std::int64_t index) {
  const unsigned pair = tensor.packed[static_cast<std::size_t>(index / 2)];
  const auto code = static_cast<int>(index % 2 == 0 ? pair / 16 : pair % 16);
  return product(nf4::codebook_value(code),
                 scale_of(tensor, static_cast<std::size_t>(index / tensor.blocksize)));
}

double second_round(float value, nf4::OutputType type) {
  if (value == 0.0f || !std::isfinite(value)) return value;
  const Digits digits = digits_of(type);
  const int exponent = std::max(std::ilogb(value), digits.least_exponent);
  const double unit = std::ldexp(1.0, exponent - digits.significand);
  const double rounded = std::nearbyint(value / unit) * unit;
  const bool is_too_large = std::fabs(rounded) >= std::ldexp(1.0, digits.greatest_exponent + 1);
  return is_too_large ? std::copysign(std::numeric_limits<double>::infinity(), value) : rounded;
}

double second_value(std::span<const std::byte> output, nf4::OutputType type, std::int64_t index) {
  const std::size_t size = nf4::size_in_bytes(type);
  std::uint32_t bits = 0;  // the first byte is the lowest
  for (std::size_t i = size; i-- > 0;) {
    bits = bits * 256 +
           std::to_integer<std::uint32_t>(output[static_cast<std::size_t>(index) * size + i]);
  }
  const Digits digits = digits_of(type);
  const std::uint32_t fractions = 1u << digits.significand;
  const std::uint32_t sign = 1u << (8 * size - 1);
  const auto exponent = static_cast<int>(bits % sign / fractions);
  const double fraction = bits % fractions;
  double value = 0.0;
  if (exponent > digits.greatest_exponent - digits.least_exponent + 1) {
    value = fraction == 0.0 ? std::numeric_limits<double>::infinity()
                            : std::numeric_limits<double>::quiet_NaN();
  } else {
    const double significand = exponent == 0 ? fraction : fraction + fractions;
    value = std::ldexp(significand,
                       std::max(exponent, 1) - 1 + digits.least_exponent - digits.significand);
  }
  return bits < sign ? value : -value;
}

}  // namespace nf4bench::fuzz
