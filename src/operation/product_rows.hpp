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

// A row of W, and where its weights lie: from this element of the weight on, so far from each
// other.
struct WeightRow {
  Row row;
  std::int64_t first_element = 0;
  std::int64_t stride = 1;
  std::int64_t blocksize = 0;
};

// Of `values`, whose sums are found.
Row make_row(std::vector<double> values);
Row make_row(nf4::OutputType type, std::span<const std::byte> bytes);

// The row of W, of `problem.inputs` weights that follow each other from this element of `weight`
// on.
WeightRow weight_row(const nf4::Nf4Tensor& weight, const kernels::Problem& problem,
                     std::int64_t first_element);

// Rows of a matrix that follow each other, of a stack one of an expert's.
struct RowRange {
  std::int64_t expert = 0;
  std::int64_t first = 0;
  std::int64_t count = 1;
};

// How many rows to read at once: where W lies transposed, neighbours share blocks.
std::int64_t rows_at_once(const kernels::Problem& problem);

// The weights of some rows at `count` inputs from `first_input` on, row by row, however W lies.
std::vector<double> weight_values(const nf4::Nf4Tensor& weight, const kernels::Problem& problem,
                                  const RowRange& rows, std::int64_t first_input,
                                  std::int64_t count);

// Whole rows.
std::vector<WeightRow> weight_rows(const nf4::Nf4Tensor& weight, const kernels::Problem& problem,
                                   const RowRange& rows);

// The sum of the products of both.
ProductTruth dot(const Row& x, const WeightRow& w);

// What a slot adds to an output. Errors of different slots have nothing to do with each other.
void add(ProductTruth& sum, const ProductTruth& slot, double weight);

}  // namespace nf4bench::operation
