#pragma once

#include "nf4/tensor.hpp"

#include <cstdint>
#include <string>

namespace nf4bench::nf4 {

// How many values of a tensor are infinite or NaN. That is seldom meant, but decoded all the same.
struct NonFinite {
  std::int64_t scales = 0;   // of tensor.blocks()
  std::int64_t outputs = 0;  // of tensor.elements, in one output type
};

// Counts on all cores. Outputs are decoded only in blocks whose scale is not finite in `type`.
NonFinite count_non_finite(const Nf4Tensor& tensor, OutputType type);

// "2 of 4096 scales are infinite or NaN, and so are 128 of 262144 outputs in float16"; empty when
// nothing is.
std::string describe_non_finite(const Nf4Tensor& tensor, OutputType type);

}  // namespace nf4bench::nf4
