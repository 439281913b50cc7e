#pragma once

// The kernels that compute a product by themselves: `fused`, its configurations, the catalogue and
// the C library read them. To add one see docs/adding-a-kernel.md.

#include "variant.hpp"

#include <span>

namespace nf4bench::kernels::cuda {

// In the order of product_models(), which chooses among them.
std::span<const Variant> own_products();

}  // namespace nf4bench::kernels::cuda
