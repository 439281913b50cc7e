#pragma once

#include "nf4/tensor.hpp"
#include "problem.hpp"
#include "record/device_info.hpp"
#include "record/run_options.hpp"
#include "record/verification.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace nf4bench::operation {

// One call of a probe.
struct ProbeStep {
  std::string name;                 // as a failure names it: "one input at a time, from 64 on"
  std::vector<std::byte> input;     // of the size that make_input() gives
  std::vector<std::byte> expected;  // as reference() gives it: of the output's first values
};

// Something besides the run's own weight and input that variants are held to before they are timed:
// calls on one weight of the same sizes.
struct Probe {
  // What the weight of the run becomes; empty: it stays as it is.
  std::function<nf4::Nf4Tensor(const nf4::Nf4Tensor& weight)> change;

  std::int64_t steps = 1;

  // `weight` is what change() gave.
  std::function<ProbeStep(const nf4::Nf4Tensor& weight, std::int64_t step)> make;
};

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

// What a random sum under one routing cannot show of a product with a stack, see docs/method.md:
// - experts in turn, one input each, so that each output is one weight and says which expert, row
//   and column were read; where slots are summed, under slot weights from 1 to 2^-15 and with all
//   other slots of the token 0, so that none can be left out;
// - sums that are exact in any order, under scales that are powers of two;
// - slots that cancel each other but for one that is small: sums over slots in 16 bits lose it;
// - of a layer, instead of exact sums, rows so large that activations are clamped;
// - other routings in the same buffers: an id twice, and ids that are no expert's, whose rows and
//   slot weights are NaN;
// - NaN in the row of one token, and in the scales of an expert that nobody chose.
// Bounded in cost: with many experts and few tokens the walk visits some of them.
std::vector<Probe> experts_probes(const kernels::Problem& problem,
                                  const record::RunOptions& options, record::DeviceKind device);

}  // namespace nf4bench::operation
