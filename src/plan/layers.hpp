#pragma once

#include "plan/plan.hpp"
#include "record/run_options.hpp"

#include <vector>

namespace nf4bench::plan {

// The layers that `stacks` make, which whole_stacks() gave: of a stack of gates and ups and the one
// that leads back, joined, with plain scales; of a synthetic one, whose outputs say how wide the
// layer is. Throws Error(kUsage) when a stack has no other, or when sizes do not fit together.
std::vector<TensorSource> whole_layers(const std::vector<TensorSource>& stacks,
                                       const record::RunOptions& options);

}  // namespace nf4bench::plan
