#pragma once

// The CUDA products with stacks of experts; each is described where it is defined.

#include "variant.hpp"

#include <vector>

namespace nf4bench::kernels::cuda {

Variant experts_grouped_any();
Variant experts_grouped_linear();
Variant experts_grouped_columns();
Variant experts_grouped_wgmma();
Variant experts_grouped_ring();

// The host waits for the routing, and makes one product for each expert that was hit.
Variant experts_decode_all();
Variant experts_loop();
Variant experts_grouped_resident();

// Those that need no other library, the fastest first.
const std::vector<Variant>& own_grouped_products();

// The first of these that can do the problem; so does libnf4.
Variant experts_fused();

}  // namespace nf4bench::kernels::cuda
