#pragma once

// What an output of a matrix product may be, in a form that the host and a device judge by alike.
// C++17 and std only.

#include "nf4/format.hpp"

#include <cmath>
#include <cstdint>

namespace nf4bench::kernels {

// Of one output. Errors up to `exact` are those of exact weights, errors up to `rounded` those of
// weights that were rounded to 16 bits; what is beyond is wrong. An infinite or NaN `value` must be
// met. Where sums of float32 may overflow on their way to a finite one, infinity and NaN are right
// as well: that depends on the order of summing alone.
struct ProductBound {
  double value = 0.0;
  float exact = 0.0f;
  float rounded = 0.0f;  // at least `exact`; negated where sums may overflow
};

// Where the numbers of an output type end.
struct TypeRange {
  double largest = 0.0;   // the greatest finite number
  double overflow = 0.0;  // what is greater becomes infinite, however it is rounded
};

constexpr TypeRange range_of(nf4::OutputType type) {
  const double largest = nf4::largest(type);
  return {largest, largest * (1.0 + nf4::unit_roundoff(type))};
}

enum class ProductJudgement : std::uint8_t { kExact, kRounded, kWrong };

NF4BENCH_HOST_DEVICE inline ProductJudgement judge_product(const TypeRange& range,
                                                           const ProductBound& bound,
                                                           double actual) {
  if (!std::isfinite(bound.value)) {
    const bool is_met = std::isnan(bound.value) ? std::isnan(actual) : actual == bound.value;
    if (is_met) return ProductJudgement::kExact;
    // A kernel that splits a weight in two meets inf - inf where the definition meets inf alone.
    return std::isfinite(actual) ? ProductJudgement::kWrong : ProductJudgement::kRounded;
  }
  const bool sums_may_overflow = bound.rounded < 0.0f;
  if (sums_may_overflow && !std::isfinite(actual)) return ProductJudgement::kExact;
  const double rounded = std::fabs(bound.rounded);
  const double size = std::fabs(bound.value);
  // The type cannot hold the truth, or just so: infinity is an answer.
  const bool may_overflow = size + rounded > range.largest;
  if (std::isinf(actual) && may_overflow && actual * bound.value > 0.0) {
    return ProductJudgement::kExact;
  }
  const bool must_overflow = size - rounded > range.overflow;
  if (!std::isfinite(actual) || must_overflow) return ProductJudgement::kWrong;
  const double error = std::fabs(actual - bound.value);
  if (error <= bound.exact) return ProductJudgement::kExact;
  return error <= rounded ? ProductJudgement::kRounded : ProductJudgement::kWrong;
}

// Over outputs whose truth and value are finite.
struct ProductErrors {
  double truth_squares = 0.0;
  double error_squares = 0.0;
  double largest = 0.0;
  unsigned long long count = 0;

  NF4BENCH_HOST_DEVICE void add(double truth, double actual) {
    if (!std::isfinite(truth) || !std::isfinite(actual)) return;
    const double error = std::fabs(actual - truth);
    truth_squares += truth * truth;
    error_squares += error * error;
    if (error > largest) largest = error;
    ++count;
  }
};

}  // namespace nf4bench::kernels
