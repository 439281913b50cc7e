#pragma once

#include "operation/operation.hpp"
#include "product_bound.hpp"

#include <vector>

namespace nf4bench::operation {

// A product with a stack of experts W[experts, outputs, inputs], of which each token chooses top_k.
// Of the first product of an expert, y[slot] = x[token] W[expert]^T; of the second, y[token] =
// sum over its slots of weight[slot] x[slot] W[expert]^T. x and y in the same type, sums in
// float32. Of a whole layer, y[token] = sum over its slots of weight[slot] act(x[token] W^T) V^T,
// and what stands between the products in the type of both.
const Operation& experts();

// What the first `most_outputs` outputs may be.
std::vector<kernels::ProductBound> experts_bounds(const nf4::Nf4Tensor& weight,
                                                  const kernels::Problem& problem,
                                                  std::span<const std::byte> input,
                                                  std::int64_t most_outputs);

// `operation` with ids [tokens, top_k] of somebody's own: the first of them, and in the other turn
// those that follow, from the start again behind the last.
Operation with_ids(Operation operation, std::vector<std::int64_t> ids);

}  // namespace nf4bench::operation
