#pragma once

#include "variant.hpp"

namespace nf4bench::kernels::cuda {

// A matrix product in two steps: `decode`, a variant of dequantize, writes the weight into the
// workspace, and cuBLAS multiplies by it. It has no name and no summary yet.
Variant decode_then_cublas(const Variant& decode);

}  // namespace nf4bench::kernels::cuda
