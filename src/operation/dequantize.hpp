#pragma once

#include "operation/operation.hpp"

namespace nf4bench::operation {

// The decoded weight, bit for bit as bitsandbytes' CUDA path computes it.
const Operation& dequantize();

}  // namespace nf4bench::operation
