#pragma once

// Rows of x and of W as numbers, and their products: what truths of products are made of.

#include "nf4/tensor.hpp"
#include "operation/product_truth.hpp"
#include "problem.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace nf4bench::operation {

// One row of x or of W as numbers.
struct Row {
  std::vector<double> values;
  double sum = 0.0;
  double mean_square = 0.0;
  // How far each may be off, of exact weights and of rounded ones; empty: not at all.
  std::vector<float> exact_errors{};
  std::vector<float> rounded_errors{};
  bool may_overflow = false;  // one of them the type perhaps cannot hold
};

// A row of W, the first block of which ends at `first_end`.
struct WeightRow {
  Row row;
  std::int64_t first_end = 0;
  std::int64_t blocksize = 0;
};

// Of `values`, whose sums are found.
Row make_row(std::vector<double> values);
Row make_row(nf4::OutputType type, std::span<const std::byte> bytes);

// The row of W, of `problem.inputs` weights, that begins with this element of `weight`.
WeightRow weight_row(const nf4::Nf4Tensor& weight, const kernels::Problem& problem,
                     std::int64_t first_element);

// The sum of the products of both.
ProductTruth dot(const Row& x, const WeightRow& w);

// What a slot adds to an output. Errors of different slots have nothing to do with each other.
void add(ProductTruth& sum, const ProductTruth& slot, double weight);

}  // namespace nf4bench::operation
