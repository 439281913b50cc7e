#pragma once

// Random numbers that are the same on every machine. They are drawn by index, so that threads may
// draw them in any order, and computed with IEEE operations only (+, -, *, /, sqrt), because libm
// differs between systems.

#include <cmath>
#include <cstdint>
#include <cstring>

namespace nf4bench::nf4 {

// One stream of random bits; `at(i)` is its i-th word, in any order. The finalizer of SplitMix64
// (Steele, Lea, Flood 2014) over an arithmetic sequence.
class RandomStream {
 public:
  RandomStream(std::uint64_t seed, std::uint64_t stream)
      : key_(mix(mix(seed) + stream * kIncrement)) {}

  std::uint64_t at(std::int64_t index) const {
    return mix(key_ + static_cast<std::uint64_t>(index) * kIncrement);
  }

  static std::uint64_t mix(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
  }

 private:
  static constexpr std::uint64_t kIncrement = 0x9e3779b97f4a7c15u;
  std::uint64_t key_;
};

// A number in (0, 1), never an end point, from the upper 52 bits of a random word.
inline double to_unit(std::uint64_t word) {
  return (static_cast<double>(word >> 12) + 0.5) * 0x1p-52;
}

// ln(x) of a positive normal x, to a few units in the last place.
inline double portable_log(double x) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &x, sizeof(bits));
  auto exponent = static_cast<int>(bits >> 52) - 1022;
  bits = (bits & 0x000fffffffffffffu) | 0x3fe0000000000000u;  // the significand in [1/2, 1)
  double significand = 0.0;
  std::memcpy(&significand, &bits, sizeof(significand));
  if (significand < 0.70710678118654752) {
    significand *= 2.0;
    --exponent;
  }
  // ln(m) = 2 atanh((m - 1) / (m + 1)); |ratio| < 0.172, so 12 terms reach double precision.
  const double ratio = (significand - 1.0) / (significand + 1.0);
  double sum = 0.0;
  for (int k = 23; k >= 1; k -= 2) sum = sum * (ratio * ratio) + 1.0 / k;
  return 2.0 * ratio * sum + exponent * 0.69314718055994531;
}

// e^x for |x| < 700, to a few units in the last place.
inline double portable_exp(double x) {
  const double whole = std::floor(x * 1.4426950408889634 + 0.5);
  const double rest = x - whole * 0.69314718055994531;
  double sum = 1.0;
  for (int k = 14; k >= 1; --k) sum = 1.0 + rest / k * sum;
  return std::ldexp(sum, static_cast<int>(whole));
}

// The standard normal quantile of p in (0, 1), by P. J. Acklam's rational approximation (relative
// error below 1.2e-9).
inline double normal_quantile(double p) {
  constexpr double kTail = 0.02425;
  if (p > 1.0 - kTail) return -normal_quantile(1.0 - p);
  if (p < kTail) {
    const double q = std::sqrt(-2.0 * portable_log(p));
    return (((((-7.784894002430293e-03 * q - 3.223964580411365e-01) * q - 2.400758277161838) * q -
              2.549732539343734) *
                 q +
             4.374664141464968) *
                q +
            2.938163982698783) /
           ((((7.784695709041462e-03 * q + 3.224671290700398e-01) * q + 2.445134137142996) * q +
             3.754408661907416) *
                q +
            1.0);
  }
  const double q = p - 0.5;
  const double r = q * q;
  const double numerator =
      ((((-3.969683028665376e+01 * r + 2.209460984245205e+02) * r - 2.759285104469687e+02) * r +
        1.383577518672690e+02) *
           r -
       3.066479806614716e+01) *
          r +
      2.506628277459239;
  const double denominator =
      ((((-5.447609879822406e+01 * r + 1.615858368580409e+02) * r - 1.556989798598866e+02) * r +
        6.680131188771972e+01) *
           r -
       1.328068155288572e+01) *
          r +
      1.0;
  return numerator * q / denominator;
}

}  // namespace nf4bench::nf4
