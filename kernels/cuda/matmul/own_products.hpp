#pragma once

// The table of the kernels that compute a product by themselves: `fused`, its configurations, the
// catalogue and the C library read it. To add one see docs/adding-a-kernel.md.

#include "variant.hpp"

#include <cstdint>
#include <span>

namespace nf4bench::kernels::cuda {

struct OwnProduct {
  Variant variant;
  // Up to how many tokens it is faster than every kernel below it, and than to decode the weight
  // into memory and multiply by a BLAS; 0: never. Those of `problem` do not matter.
  std::int64_t (*most_tokens)(const Problem& problem, const DeviceFacts& device);
};

// In the order in which they are asked.
std::span<const OwnProduct> own_products();

}  // namespace nf4bench::kernels::cuda
