#pragma once

// Every CUDA variant of `dequantize`; each has a file of its own beside this one. catalog.cpp
// orders them.

#include "variant.hpp"

#include <vector>

namespace nf4bench::kernels::cuda {

Variant branch_tree();
Variant multi_kernel();
Variant lut_constant();
Variant lut_shared();
Variant lut_shared_pair();
Variant lut_register();
Variant select_tree();
Variant lop3_prmt();
Variant cache_hints();
Variant warp_persistent();
Variant fused();

// The access shapes of stream_shapes.cu: kernels that move the bytes and decode nothing.
std::vector<Variant> stream_shapes();

}  // namespace nf4bench::kernels::cuda
