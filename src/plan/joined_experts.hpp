#pragma once

#include "plan/plan.hpp"

#include <vector>

namespace nf4bench::plan {

// The stacks that matrices of single experts make, "experts.0.gate_proj.weight" and so on (or w1,
// w2 and w3): "experts.gate_up_proj" of each expert's gates and ups, one behind the other, and
// "experts.down_proj"; with plain scales. Throws Error(kUsage) when one of them is missing, or is
// not as the others are.
std::vector<TensorSource> joined_experts(const std::vector<TensorSource>& sources);

}  // namespace nf4bench::plan
