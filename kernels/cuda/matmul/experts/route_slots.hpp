#pragma once

#include "cuda/matmul/experts/grouped_plan.hpp"

namespace nf4bench::kernels::cuda {

// Fills the routed workspace, and writes zeros to the outputs of slots that have no expert. One
// launch.
RoutedRows launch_route_slots(const Job& job, const Launch& launch, int tile_slots,
                              RoutedInput copies);

}  // namespace nf4bench::kernels::cuda
