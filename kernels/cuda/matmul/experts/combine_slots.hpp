#pragma once

#include "variant.hpp"

namespace nf4bench::kernels::cuda {

// Adds up the results of each token's slots in their order, in float32, and rounds once. Those of
// slots without an expert are not looked at.
void launch_combine_slots(const Job& job, const Launch& launch, const float* sums);

}  // namespace nf4bench::kernels::cuda
