#pragma once

// The CPU variants of the matmul operation; each is described where it is defined.

#include "variant.hpp"

namespace nf4bench::kernels::cpu {

Variant matmul_reference();
Variant matmul_decode_blas();
Variant matmul_simd();

}  // namespace nf4bench::kernels::cpu
