#pragma once

#include "operation/probe.hpp"
#include "problem.hpp"
#include "record/device_info.hpp"
#include "record/run_options.hpp"

#include <vector>

namespace nf4bench::operation {

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
