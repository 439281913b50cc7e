#pragma once

// The CPU's products with stacks of experts.

#include "activation.hpp"
#include "variant.hpp"

namespace nf4bench::kernels::cpu {

Variant experts_reference();
Variant experts_grouped();

void activate_rows(const Activation& of, const Launch& launch);

}  // namespace nf4bench::kernels::cpu
