#pragma once

// The table of the kernels that compute a product by themselves: `fused`, its configurations, the
// catalogue and the C library read it. To add one see docs/adding-a-kernel.md.

#include "variant.hpp"

#include <cstdint>
#include <span>

namespace nf4bench::kernels::cuda {

struct OwnProduct {
  Variant variant;
  // What it takes, of problems that it can do; costs.hpp says how well that is known.
  double (*cost_ns)(const Problem& problem, const DeviceFacts& device);
};

// Of those that take the same time the first is chosen.
std::span<const OwnProduct> own_products();

}  // namespace nf4bench::kernels::cuda
