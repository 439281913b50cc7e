#pragma once

#include "plan/plan.hpp"
#include "record/run_options.hpp"

#include <vector>

namespace nf4bench::plan {

// `sources` with each stack of matrices, such as [experts, out, in], as its matrices, "NAME[0]" and
// on: an operation on matrices has one problem for each. Loading them in order reads a stack once.
// Throws Error(kUsage) when one of them does not begin with a block.
std::vector<TensorSource> split_stacks(std::vector<TensorSource> sources);

// Those of `sources` that are stacks of experts [experts, outputs, inputs], and those that matrices
// of single experts make, of the parts that `options` ask for, with what each is there for: the
// part as the preset says, or as the name does ("down", "w2"), else gate_up, or the only one that
// is asked for. Throws Error(kUsage) when there is none, and when nothing says how many experts a
// token chooses.
std::vector<TensorSource> whole_stacks(const std::vector<TensorSource>& sources,
                                       const record::RunOptions& options);

}  // namespace nf4bench::plan
