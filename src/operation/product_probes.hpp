#pragma once

#include "operation/probe.hpp"
#include "problem.hpp"
#include "record/device_info.hpp"
#include "record/run_options.hpp"
#include "record/verification.hpp"

#include <vector>

namespace nf4bench::operation {

// What a random sum cannot show of a matrix product, see docs/method.md:
// - weights one by one: one-hot activations walk through the inputs, so that each output is one
//   weight. Exact weights are off by one unit of the output type at most, rounded ones by four
//   roundings of the block's scale;
// - sums that are exact in any order, of whole numbers under scales that are powers of two: all
//   bits must agree;
// - the same of weights that are 1 or -1, of all inputs in turn: each must have its own code;
// - activations with an outlier channel, NaN and infinity, and scales that are infinite and NaN:
//   what is not touched by these must be right.
// Bounded in cost: of many inputs or few tokens, a walk visits a sample of the inputs, drawn by the
// seed of the options.
std::vector<Probe> product_probes(const kernels::Problem& problem,
                                  const record::RunOptions& options, record::DeviceKind device);

// `weight` with scales 1 and 2 in place of its own: sums of some whole numbers times its values are
// exact in any order.
nf4::Nf4Tensor with_powers_of_two(const nf4::Nf4Tensor& weight);

// The same with weights of 1 and -1, as their sign was.
nf4::Nf4Tensor with_signs(const nf4::Nf4Tensor& weight);

// Of how many inputs these show the weights.
record::InputsSeen product_inputs_seen(const kernels::Problem& problem,
                                       const record::RunOptions& options,
                                       record::DeviceKind device);

}  // namespace nf4bench::operation
