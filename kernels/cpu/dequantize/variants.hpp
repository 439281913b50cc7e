#pragma once

// The CPU variants of the dequantize operation; each is described where it is defined.

#include "variant.hpp"

namespace nf4bench::kernels::cpu {

Variant reference();
Variant multi_pass();
Variant lut();
Variant simd();

}  // namespace nf4bench::kernels::cpu
