#pragma once

#include "nf4/tensor.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace nf4bench::fuzz {

// The decoder written a second time, element by element and in double: products and sums of two
// floats are rounded there to more than twice their digits, so that rounding them again is as good
// as rounding once. Nothing of nf4/arithmetic.hpp is in it.

// What element `index` of a valid tensor decodes to as float32.
float second_decode(const nf4::Nf4Tensor& tensor, std::int64_t index);

// `value` as `type` holds it: to nearest, ties to even, infinite when it is too large.
double second_round(float value, nf4::OutputType type);

// The value that stands at `index` of an output of `type`.
double second_value(std::span<const std::byte> output, nf4::OutputType type, std::int64_t index);

}  // namespace nf4bench::fuzz
