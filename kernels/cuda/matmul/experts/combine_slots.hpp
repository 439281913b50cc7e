#pragma once

#include "variant.hpp"

namespace nf4bench::kernels::cuda {

// Adds up the results of each token's slots in their order, in float32, and rounds once; where the
// job does not add up slots, the `parts` of each. Those of slots without an expert are not looked
// at. `sums` has the parts of a slot one behind the other.
void launch_combine_slots(const Job& job, const Launch& launch, const float* sums, int parts = 1);

}  // namespace nf4bench::kernels::cuda
