#pragma once

// The CPU's products with stacks of experts.

#include "activation.hpp"
#include "variant.hpp"

namespace nf4bench::kernels::cpu {

Variant experts_reference();
Variant experts_decode_all();
Variant experts_loop();
Variant experts_grouped();
Variant experts_grouped_resident();

void activate_rows(const Activation& of, const Launch& launch);

}  // namespace nf4bench::kernels::cpu
