#pragma once

// The CPU's products with stacks of experts.

#include "variant.hpp"

namespace nf4bench::kernels::cpu {

Variant experts_reference();
Variant experts_grouped();

}  // namespace nf4bench::kernels::cpu
