#pragma once

#include "plan/plan.hpp"

#include <vector>

namespace nf4bench::plan {

// `sources` with each stack of matrices, such as [experts, out, in], as its matrices, "NAME[0]" and
// on: an operation on matrices has one problem for each. Loading them in order reads a stack once.
// Throws Error(kUsage) when one of them does not begin with a block.
std::vector<TensorSource> split_stacks(std::vector<TensorSource> sources);

}  // namespace nf4bench::plan
