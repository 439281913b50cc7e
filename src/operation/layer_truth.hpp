#pragma once

#include "nf4/tensor.hpp"
#include "operation/product_truth.hpp"
#include "problem.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace nf4bench::operation {

// What the outputs of a layer of experts are held to, the first `most_values` of them, as
// product_truth() says it of products. What is activated, and what comes of it, may be rounded to
// the type and inherits the budget of the first product: see docs/method.md.
std::vector<ProductTruth> layer_truth(const nf4::Nf4Tensor& weight, const kernels::Problem& problem,
                                      std::span<const std::byte> input, std::int64_t most_values);

// What leads of some columns of what is activated to some outputs of an expert.
struct LayerPart {
  std::int64_t expert = 0;
  std::int64_t first_output = 0;
  std::int64_t outputs = 0;
  std::int64_t first_column = 0;
  std::int64_t columns = 0;
};

// The part that the weight's elements from `first` on belong to: of one expert and stack.
LayerPart part_of_layer(const kernels::Problem& problem, std::int64_t first, std::int64_t count);

// What `part` alone adds to outputs, as far as they are among the first `most_values`.
std::vector<PlacedTruths> truth_of_layer_part(const nf4::Nf4Tensor& weight,
                                              const kernels::Problem& problem,
                                              std::span<const std::byte> input,
                                              const LayerPart& part, std::int64_t most_values);

}  // namespace nf4bench::operation
