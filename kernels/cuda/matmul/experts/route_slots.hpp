#pragma once

#include "cuda/matmul/experts/grouped_plan.hpp"

namespace nf4bench::kernels::cuda {

// In which order gathered rows have their inputs: as they lie, or the pairs of each 64 transposed
// as produce_tokens.cuh says.
enum class RowOrder { kPlain, kRegrouped };

// Fills the routed workspace, and writes zeros to the outputs of slots that have no expert. One
// launch.
void launch_route_slots(const Job& job, const Launch& launch, int tile_slots, RowOrder order);

}  // namespace nf4bench::kernels::cuda
