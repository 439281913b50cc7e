#include "operation/product_truth.hpp"

#include "base/parallel.hpp"
#include "nf4/reference.hpp"
#include "nf4/values.hpp"
#include "operation/routing.hpp"

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

// Row `n` of W, or of all matrices of a stack, one below the other.
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

// What a slot adds to an output. Errors of different slots have nothing to do with each other.
void add(ProductTruth& sum, const ProductTruth& slot, double weight) {
  const double size = std::fabs(weight);
  sum.value += weight * slot.value;
  sum.reach += size * slot.reach;
  sum.spread = std::hypot(sum.spread, size * slot.spread);
  sum.greatest_sum += size * slot.greatest_sum;
}

// A product whose rows each choose some matrices; where there is but one, each row has that.
class Slots {
 public:
  Slots(const kernels::Problem& problem, std::span<const std::byte> input)
      : problem_(problem), parts_(parts_of(problem, input)) {}

  // Of an output row, the first of those it is made of; they follow each other.
  std::int64_t first_of(std::int64_t row) const { return row * added(); }
  std::int64_t added() const { return problem_.group.sums_slots ? problem_.group.top_k : 1; }
  std::int64_t output_row(std::int64_t slot) const { return slot / added(); }
  std::int64_t expert(std::int64_t slot) const { return expert_of(problem_, parts_, slot); }
  double weight(std::int64_t slot) const { return slot_weight(parts_, slot); }
  std::int64_t input_row(std::int64_t slot) const {
    return problem_.group.slots_have_rows ? slot : slot / problem_.group.top_k;
  }

  Row x(std::int64_t row) const {
    const std::size_t bytes =
        static_cast<std::size_t>(problem_.inputs) * nf4::size_in_bytes(problem_.output_type);
    return make_row(problem_.output_type,
                    parts_.rows.subspan(static_cast<std::size_t>(row) * bytes, bytes));
  }

 private:
  const kernels::Problem& problem_;
  CallParts parts_;
};

}  // namespace

std::vector<ProductTruth> product_truth(const nf4::Nf4Tensor& weight,
                                        const kernels::Problem& problem,
                                        std::span<const std::byte> input,
                                        std::int64_t most_values) {
  const std::int64_t outputs = problem.outputs;
  const std::int64_t count = std::min(output_rows(problem) * outputs, most_values);
  std::vector<ProductTruth> truth(static_cast<std::size_t>(count));
  const Slots slots(problem, input);
  const std::int64_t rows = count == 0 ? 0 : (count + outputs - 1) / outputs;
  std::vector<std::vector<std::int64_t>> of_expert(
      static_cast<std::size_t>(std::max<std::int64_t>(1, problem.group.experts)));
  std::vector<Row> x;
  for (std::int64_t slot = 0; slot < slots.first_of(rows); ++slot) {
    if (slots.input_row(slot) == static_cast<std::int64_t>(x.size())) {
      x.push_back(slots.x(slots.input_row(slot)));
    }
    const std::int64_t expert = slots.expert(slot);
    if (expert >= 0) of_expert[static_cast<std::size_t>(expert)].push_back(slot);
  }
  parallel_for(std::min(outputs, count), 1, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t n = first; n < last; ++n) {
      for (std::size_t expert = 0; expert < of_expert.size(); ++expert) {
        if (of_expert[expert].empty()) continue;
        const WeightRow w =
            weight_row(weight, problem, static_cast<std::int64_t>(expert) * outputs + n);
        for (const std::int64_t slot : of_expert[expert]) {
          const std::int64_t at = slots.output_row(slot) * outputs + n;
          if (at >= count) continue;
          const Row& row = x[static_cast<std::size_t>(slots.input_row(slot))];
          add(truth[static_cast<std::size_t>(at)], dot(row, w), slots.weight(slot));
        }
      }
    }
  });
  return truth;
}

std::vector<PlacedTruth> product_truth_of_row(const nf4::Nf4Tensor& weight,
                                              const kernels::Problem& problem,
                                              std::span<const std::byte> input, std::int64_t n,
                                              std::int64_t most_values) {
  const Slots slots(problem, input);
  const std::int64_t column = n % problem.outputs;
  const std::int64_t expert = n / problem.outputs;
  const WeightRow own = weight_row(weight, problem, n);
  std::vector<PlacedTruth> truth;
  for (std::int64_t row = 0; row < output_rows(problem); ++row) {
    const std::int64_t at = row * problem.outputs + column;
    if (at >= most_values) break;
    const std::int64_t begin = slots.first_of(row);
    for (std::int64_t slot = begin; slot < begin + slots.added(); ++slot) {
      if (slots.expert(slot) != expert) continue;
      truth.push_back({at, {}});
      break;
    }
  }
  const auto add_slots = [&](PlacedTruth& to) {
    const std::int64_t begin = slots.first_of(to.index / problem.outputs);
    for (std::int64_t slot = begin; slot < begin + slots.added(); ++slot) {
      const std::int64_t other = slots.expert(slot);
      if (other < 0) continue;
      const Row x = slots.x(slots.input_row(slot));
      const ProductTruth part =
          other == expert ? dot(x, own)
                          : dot(x, weight_row(weight, problem, other * problem.outputs + column));
      add(to.truth, part, slots.weight(slot));
    }
  };
  const auto count = static_cast<std::int64_t>(truth.size());
  parallel_for(count, 1, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) add_slots(truth[static_cast<std::size_t>(i)]);
  });
  return truth;
}

}  // namespace nf4bench::operation
