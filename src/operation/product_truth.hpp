#pragma once

#include "nf4/reference.hpp"
#include "nf4/tensor.hpp"
#include "problem.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace nf4bench::operation {

// What one output of a matrix product is held to.
struct ProductTruth {
  double value = 0.0;  // the sum over k of x[m,k] w[n,k], in float64

  // How large sums became on the way: what errors of summing scale with. The greatest of the sums
  // up to the end of a block and of the root of the sum of squared products.
  double reach = 0.0;

  // What errors of rounding weights scale with, if codebook values, scales and products of both are
  // each rounded on their own: the root of the sum of squares of what each of these errors is
  // multiplied with, see product_truth.cpp.
  double spread = 0.0;

  // More than any sum of these products, or of the activations times codebook values, can become,
  // in any order.
  double greatest_sum = 0.0;

  // Of inputs that are off themselves, as those of a layer's second product are: the root of the
  // sum of squares of what they may be off by times their weights, of exact weights and of rounded
  // ones.
  double inherited_exact = 0.0;
  double inherited_rounded = 0.0;
};

// The truth of y[rows, outputs] in row-major order, the first `most_values` of them. Weights are
// those that dequantization to the problem's type gives, bit for bit. `input` is made of CallParts,
// x in the same type. Uses all cores.
std::vector<ProductTruth> product_truth(const nf4::Nf4Tensor& weight,
                                        const kernels::Problem& problem,
                                        std::span<const std::byte> input, std::int64_t most_values);

// Outputs that follow each other.
struct PlacedTruths {
  std::int64_t first = 0;  // among all values of y
  std::vector<ProductTruth> truths;
};

// The same of the outputs that these elements of the weight have a part in, as far as they are
// among the first `most_values`.
std::vector<PlacedTruths> product_truth_of_part(const nf4::Nf4Tensor& weight,
                                                const kernels::Problem& problem,
                                                std::span<const std::byte> input,
                                                nf4::ElementRange elements,
                                                std::int64_t most_values);

// Rows of x and of W as numbers, and their products: what truths of products are made of.

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

// The row of W, of `problem.inputs` weights, that begins with this element of `weight`.
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

// The sum of the products of both.
ProductTruth dot(const Row& x, const WeightRow& w);

// What a slot adds to an output. Errors of different slots have nothing to do with each other.
void add(ProductTruth& sum, const ProductTruth& slot, double weight);

}  // namespace nf4bench::operation
