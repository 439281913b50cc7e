#pragma once

// An independent answer to how a number rounds to a 16-bit type: a table of every finite value, and
// the nearest entry. It shares no bit trick with the code under test.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace nf4bench {

class NarrowOracle {
 public:
  static NarrowOracle float16() { return NarrowOracle(5, 10); }
  static NarrowOracle bfloat16() { return NarrowOracle(8, 7); }

  // The exact value of a finite bit pattern.
  double value(std::uint16_t bits) const {
    const double magnitude = magnitudes_[bits & 0x7fffu];
    return (bits & 0x8000u) != 0 ? -magnitude : magnitude;
  }

  bool is_finite(std::uint16_t bits) const { return (bits & 0x7fffu) < infinity_; }
  std::uint16_t infinity() const { return infinity_; }

  // Round to nearest, ties to the even pattern. `x` is not NaN.
  std::uint16_t round(double x) const {
    const auto sign = static_cast<std::uint16_t>(std::signbit(x) ? 0x8000u : 0u);
    const double magnitude = std::fabs(x);
    // The last entry stands for infinity: where the next binade would begin, as IEEE 754 rounds.
    const auto above = std::ranges::lower_bound(magnitudes_, magnitude);
    if (above == magnitudes_.end()) return static_cast<std::uint16_t>(sign | infinity_);
    auto bits = static_cast<std::uint16_t>(above - magnitudes_.begin());
    if (*above != magnitude) {
      const double to_above = *above - magnitude;
      const double to_below = magnitude - *(above - 1);
      const bool is_lower = to_below < to_above || (to_below == to_above && (bits & 1u) != 0);
      if (is_lower) --bits;
    }
    return static_cast<std::uint16_t>(sign | bits);
  }

 private:
  NarrowOracle(int exponent_bits, int significand_bits)
      : infinity_(static_cast<std::uint16_t>(((1u << exponent_bits) - 1u) << significand_bits)) {
    const int bias = (1 << (exponent_bits - 1)) - 1;
    for (std::uint32_t bits = 0; bits <= infinity_; ++bits) {
      const int exponent = static_cast<int>(bits >> significand_bits);
      const double fraction = bits & ((1u << significand_bits) - 1u);
      const double one = 1u << significand_bits;
      const double significand = exponent == 0 ? fraction : one + fraction;
      magnitudes_.push_back(
          std::ldexp(significand, std::max(exponent, 1) - bias - significand_bits));
    }
  }

  std::uint16_t infinity_;
  std::vector<double> magnitudes_;
};

}  // namespace nf4bench
