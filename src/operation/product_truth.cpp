#include "operation/product_truth.hpp"

#include "base/parallel.hpp"
#include "nf4/reference.hpp"
#include "nf4/values.hpp"

#include <algorithm>
#include <cmath>

namespace nf4bench::operation {
namespace {

// Sums are kept in so many lanes, so that the compiler can use vectors; it may not reorder one sum.
constexpr std::size_t kLanes = 8;

// The sums over one stretch of products.
struct Sums {
  double products = 0.0;
  double squares = 0.0;
};

Sums sum_products(std::span<const double> x, std::span<const double> w) {
  double products[kLanes] = {};
  double squares[kLanes] = {};
  const std::size_t whole = x.size() / kLanes * kLanes;
  for (std::size_t k = 0; k < whole; k += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const double product = x[k + lane] * w[k + lane];
      products[lane] += product;
      squares[lane] += product * product;
    }
  }
  for (std::size_t k = whole; k < x.size(); ++k) {
    const double product = x[k] * w[k];
    products[0] += product;
    squares[0] += product * product;
  }
  Sums sums;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    sums.products += products[lane];
    sums.squares += squares[lane];
  }
  return sums;
}

// One row of x or of W as numbers.
struct Row {
  std::vector<double> values;
  double sum = 0.0;
  double mean_square = 0.0;
};

Row make_row(nf4::OutputType type, std::span<const std::byte> bytes) {
  Row row{.values = nf4::to_doubles(type, bytes)};
  for (const double value : row.values) {
    row.sum += value;
    row.mean_square += value * value;
  }
  row.mean_square /= static_cast<double>(row.values.size());
  return row;
}

// A row of W, the first block of which ends at `first_end`.
struct WeightRow {
  Row row;
  std::int64_t first_end = 0;
  std::int64_t blocksize = 0;
};

// The errors that `spread` is made of: that of the product, one for each weight, multiplied with
// x w; that of the scale, one for each block, with the block's sum; that of the codebook value, one
// for each code, with the sum over that code's weights. The last is estimated: for x without a mean
// those sums are again like the single products; what a mean adds is the same for all weights.
ProductTruth dot(const Row& x, const WeightRow& w) {
  ProductTruth truth;
  double squares = 0.0;
  double block_squares = 0.0;
  const auto inputs = static_cast<std::int64_t>(x.values.size());
  for (std::int64_t begin = 0, end = w.first_end; begin < inputs; begin = end, end += w.blocksize) {
    const auto first = static_cast<std::size_t>(begin);
    const auto count = static_cast<std::size_t>(std::min(end, inputs) - begin);
    const Sums block = sum_products(std::span(x.values).subspan(first, count),
                                    std::span(w.row.values).subspan(first, count));
    truth.value += block.products;
    truth.reach = std::max(truth.reach, std::fabs(truth.value));
    squares += block.squares;
    block_squares += block.products * block.products;
  }
  truth.reach = std::max(truth.reach, std::sqrt(squares));
  const double of_mean = x.sum * x.sum * w.row.mean_square / nf4::kCodes;
  truth.spread = std::sqrt(2.0 * squares + block_squares + of_mean);
  // The sum of absolute values is at most that (Cauchy and Schwarz).
  const auto count = static_cast<double>(inputs);
  truth.greatest_sum =
      std::max(std::sqrt(count) * std::sqrt(squares), count * std::sqrt(x.mean_square));
  return truth;
}

// Row `m` of x.
Row token_row(const kernels::Problem& problem, std::span<const std::byte> input, std::int64_t m) {
  const std::size_t bytes =
      static_cast<std::size_t>(problem.inputs) * nf4::size_in_bytes(problem.output_type);
  return make_row(problem.output_type, input.subspan(static_cast<std::size_t>(m) * bytes, bytes));
}

// Row `n` of W.
WeightRow weight_row(const nf4::Nf4Tensor& weight, const kernels::Problem& problem,
                     std::int64_t n) {
  const nf4::OutputType type = problem.output_type;
  std::vector<std::byte> bytes(static_cast<std::size_t>(problem.inputs) * nf4::size_in_bytes(type));
  const std::int64_t begin = n * problem.inputs;
  nf4::reference_dequantize(weight, type, {begin, problem.inputs}, bytes);
  return {.row = make_row(type, bytes),
          .first_end = weight.blocksize - begin % weight.blocksize,
          .blocksize = weight.blocksize};
}

}  // namespace

std::vector<ProductTruth> product_truth(const nf4::Nf4Tensor& weight,
                                        const kernels::Problem& problem,
                                        std::span<const std::byte> input,
                                        std::int64_t most_values) {
  const std::int64_t count = std::min(problem.tokens * problem.outputs, most_values);
  std::vector<ProductTruth> truth(static_cast<std::size_t>(count));
  std::vector<Row> x;
  for (std::int64_t m = 0; m * problem.outputs < count; ++m) {
    x.push_back(token_row(problem, input, m));
  }
  parallel_for(std::min(problem.outputs, count), 1, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t n = first; n < last; ++n) {
      const WeightRow w = weight_row(weight, problem, n);
      for (std::int64_t m = 0; m * problem.outputs + n < count; ++m) {
        truth[static_cast<std::size_t>(m * problem.outputs + n)] =
            dot(x[static_cast<std::size_t>(m)], w);
      }
    }
  });
  return truth;
}

std::vector<ProductTruth> product_truth_of_row(const nf4::Nf4Tensor& weight,
                                               const kernels::Problem& problem,
                                               std::span<const std::byte> input, std::int64_t n,
                                               std::int64_t most_values) {
  const std::int64_t beyond = std::max<std::int64_t>(0, most_values - n);
  const std::int64_t tokens =
      std::min(problem.tokens, (beyond + problem.outputs - 1) / problem.outputs);
  std::vector<ProductTruth> truth(static_cast<std::size_t>(tokens));
  const WeightRow w = weight_row(weight, problem, n);
  parallel_for(tokens, 1, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t m = first; m < last; ++m) {
      truth[static_cast<std::size_t>(m)] = dot(token_row(problem, input, m), w);
    }
  });
  return truth;
}

}  // namespace nf4bench::operation
