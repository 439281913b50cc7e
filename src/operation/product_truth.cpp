#include "operation/product_truth.hpp"

#include "base/parallel.hpp"
#include "nf4/reference.hpp"
#include "nf4/values.hpp"
#include "operation/routing.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace nf4bench::operation {
namespace {

// Whole rows.
std::vector<WeightRow> weight_rows(const nf4::Nf4Tensor& weight, const kernels::Problem& problem,
                                   const RowRange& rows) {
  const std::vector<double> values = weight_values(weight, problem, rows, 0, problem.inputs);
  std::vector<WeightRow> all;
  for (std::int64_t i = 0; i < rows.count; ++i) {
    const auto begin = values.begin() + i * problem.inputs;
    all.push_back({.row = make_row({begin, begin + problem.inputs}),
                   .first_element = element_of(problem, rows.expert, rows.first + i, 0),
                   .stride = problem.transposed ? problem.outputs : 1,
                   .blocksize = weight.blocksize});
  }
  return all;
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
  bool has(std::int64_t output_row, std::int64_t expert_of_it) const {
    for (std::int64_t i = 0; i < added(); ++i) {
      if (expert(first_of(output_row) + i) == expert_of_it) return true;
    }
    return false;
  }
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

// The rows of W that elements of the weight are in, each once.
std::vector<RowRange> rows_of(const kernels::Problem& problem, nf4::ElementRange elements) {
  const std::int64_t matrix = problem.outputs * problem.inputs;
  std::vector<RowRange> ranges;
  for (std::int64_t i = elements.first; i < elements.first + elements.count;) {
    const std::int64_t expert = i / matrix;
    const std::int64_t end =
        std::min(elements.first + elements.count, (expert + 1) * matrix);  // in the same matrix
    const std::int64_t length = problem.transposed ? problem.outputs : problem.inputs;
    const std::int64_t lines = (end - 1) / length - i / length + 1;  // in memory
    if (!problem.transposed) {
      ranges.push_back({expert, i % matrix / length, lines});
    } else if (end - i >= length) {
      ranges.push_back({expert, 0, problem.outputs});
    } else if (lines == 1) {
      ranges.push_back({expert, i % length, end - i});
    } else {
      ranges.push_back({expert, i % length, length - i % length});
      ranges.push_back({expert, 0, end - i - ranges.back().count});
    }
    i = end;
  }
  return ranges;
}

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
  const std::int64_t step = rows_at_once(problem);
  parallel_for(std::min(outputs, count), step, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t n = first; n < last; n += step) {
      for (std::size_t expert = 0; expert < of_expert.size(); ++expert) {
        if (of_expert[expert].empty()) continue;
        const RowRange range = {static_cast<std::int64_t>(expert), n, std::min(step, last - n)};
        const std::vector<WeightRow> w = weight_rows(weight, problem, range);
        for (const std::int64_t slot : of_expert[expert]) {
          const std::int64_t at = slots.output_row(slot) * outputs + n;
          const Row& row = x[static_cast<std::size_t>(slots.input_row(slot))];
          for (std::int64_t i = 0; i < std::min(range.count, count - at); ++i) {
            add(truth[static_cast<std::size_t>(at + i)], dot(row, w[static_cast<std::size_t>(i)]),
                slots.weight(slot));
          }
        }
      }
    }
  });
  return truth;
}

std::vector<PlacedTruths> product_truth_of_part(const nf4::Nf4Tensor& weight,
                                                const kernels::Problem& problem,
                                                std::span<const std::byte> input,
                                                nf4::ElementRange elements,
                                                std::int64_t most_values) {
  const Slots slots(problem, input);
  std::vector<PlacedTruths> placed;
  for (const RowRange& range : rows_of(problem, elements)) {
    const std::vector<WeightRow> own = weight_rows(weight, problem, range);
    const auto first_placed = static_cast<std::int64_t>(placed.size());
    for (std::int64_t row = 0; row < output_rows(problem); ++row) {
      const std::int64_t at = row * problem.outputs + range.first;
      if (at >= most_values) break;
      if (!slots.has(row, range.expert)) continue;
      const std::int64_t values = std::min(range.count, most_values - at);
      placed.push_back({at, std::vector<ProductTruth>(static_cast<std::size_t>(values))});
    }
    const auto add_slot = [&](PlacedTruths& to, std::int64_t slot) {
      const std::int64_t expert = slots.expert(slot);
      if (expert < 0) return;
      const Row x = slots.x(slots.input_row(slot));
      const std::vector<WeightRow> others =
          expert == range.expert ? std::vector<WeightRow>()
                                 : weight_rows(weight, problem, {expert, range.first, range.count});
      const std::vector<WeightRow>& w = expert == range.expert ? own : others;
      for (std::size_t i = 0; i < to.truths.size(); ++i) {
        add(to.truths[i], dot(x, w[i]), slots.weight(slot));
      }
    };
    const auto count = static_cast<std::int64_t>(placed.size()) - first_placed;
    parallel_for(count, 1, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first_placed + first; i < first_placed + last; ++i) {
        PlacedTruths& to = placed[static_cast<std::size_t>(i)];
        const std::int64_t begin = slots.first_of(to.first / problem.outputs);
        for (std::int64_t slot = begin; slot < begin + slots.added(); ++slot) add_slot(to, slot);
      }
    });
  }
  return placed;
}

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

// The root of the sum of squared products; of no errors 0.
double root_of_products(std::span<const float> errors, std::span<const double> w) {
  double squares = 0.0;
  for (std::size_t k = 0; k < errors.size(); ++k) {
    const double product = static_cast<double>(errors[k]) * w[k];
    squares += product * product;
  }
  return std::sqrt(squares);
}

// Weights that each have a block of their own are summed in stretches of so many.
constexpr std::int64_t kStretch = 64;

// The weight of the row behind the last one in the block of this one.
std::int64_t block_end(const WeightRow& w, std::int64_t at) {
  const std::int64_t element = w.first_element + at * w.stride;
  const std::int64_t rest = w.blocksize - element % w.blocksize;
  return at + (w.stride == 1 ? rest : (rest + w.stride - 1) / w.stride);
}

}  // namespace

Row make_row(std::vector<double> values) {
  Row row{.values = std::move(values)};
  for (const double value : row.values) {
    row.sum += value;
    row.mean_square += value * value;
  }
  row.mean_square /= static_cast<double>(row.values.size());
  return row;
}

Row make_row(nf4::OutputType type, std::span<const std::byte> bytes) {
  return make_row(nf4::to_doubles(type, bytes));
}

// The errors that `spread` is made of: that of the product, one for each weight, multiplied with
// x w; that of the scale, one for each block, with the block's sum; that of the codebook value, one
// for each code, with the sum over that code's weights. The last is estimated: for x without a mean
// those sums are again like the single products; what a mean adds is the same for all weights.
ProductTruth dot(const Row& x, const WeightRow& w) {
  ProductTruth truth;
  double squares = 0.0;
  double block_squares = 0.0;
  const auto inputs = static_cast<std::int64_t>(x.values.size());
  const bool shares_blocks = w.stride < w.blocksize;
  for (std::int64_t begin = 0, end = 0; begin < inputs; begin = end) {
    end = shares_blocks ? block_end(w, begin) : begin + kStretch;
    const auto first = static_cast<std::size_t>(begin);
    const auto count = static_cast<std::size_t>(std::min(end, inputs) - begin);
    const Sums block = sum_products(std::span(x.values).subspan(first, count),
                                    std::span(w.row.values).subspan(first, count));
    truth.value += block.products;
    truth.reach = std::max(truth.reach, std::fabs(truth.value));
    squares += block.squares;
    block_squares += shares_blocks ? block.products * block.products : block.squares;
  }
  truth.reach = std::max(truth.reach, std::sqrt(squares));
  const double of_mean = x.sum * x.sum * w.row.mean_square / nf4::kCodes;
  truth.spread = std::sqrt(2.0 * squares + block_squares + of_mean);
  truth.inherited_exact = root_of_products(x.exact_errors, w.row.values);
  truth.inherited_rounded = root_of_products(x.rounded_errors, w.row.values);
  // The sum of absolute values is at most that (Cauchy and Schwarz).
  const auto count = static_cast<double>(inputs);
  truth.greatest_sum =
      std::max(std::sqrt(count) * std::sqrt(squares), count * std::sqrt(x.mean_square));
  if (x.may_overflow) truth.greatest_sum = std::numeric_limits<double>::infinity();
  return truth;
}

WeightRow weight_row(const nf4::Nf4Tensor& weight, const kernels::Problem& problem,
                     std::int64_t first_element) {
  const nf4::OutputType type = problem.output_type;
  const std::size_t size = nf4::size_in_bytes(type);
  std::vector<std::byte> bytes(static_cast<std::size_t>(problem.inputs) * size);
  const std::int64_t stride = problem.transposed ? problem.outputs : 1;
  const std::int64_t length = problem.transposed ? 1 : problem.inputs;  // in memory
  for (std::int64_t i = 0; i < problem.inputs; i += length) {
    nf4::reference_dequantize(weight, type, {first_element + i * stride, length},
                              std::span(bytes).subspan(static_cast<std::size_t>(i) * size,
                                                       static_cast<std::size_t>(length) * size));
  }
  return {.row = make_row(type, bytes),
          .first_element = first_element,
          .stride = stride,
          .blocksize = weight.blocksize};
}

std::int64_t rows_at_once(const kernels::Problem& problem) {
  constexpr std::int64_t kNeighbours = 64;
  return problem.transposed ? kNeighbours : 1;
}

// What follows each other in memory is decoded at once.
std::vector<double> weight_values(const nf4::Nf4Tensor& weight, const kernels::Problem& problem,
                                  const RowRange& rows, std::int64_t first_input,
                                  std::int64_t count) {
  const nf4::OutputType type = problem.output_type;
  const std::int64_t runs = problem.transposed ? count : rows.count;
  const std::int64_t length = problem.transposed ? rows.count : count;
  std::vector<double> values(static_cast<std::size_t>(rows.count * count));
  std::vector<std::byte> bytes(static_cast<std::size_t>(length) * nf4::size_in_bytes(type));
  for (std::int64_t run = 0; run < runs; ++run) {
    const std::int64_t n = rows.first + (problem.transposed ? 0 : run);
    const std::int64_t k = first_input + (problem.transposed ? run : 0);
    const std::int64_t first = element_of(problem, rows.expert, n, k);
    nf4::reference_dequantize(weight, type, {first, length}, bytes);
    const std::vector<double> decoded = nf4::to_doubles(type, bytes);
    const auto begin = static_cast<std::size_t>(problem.transposed ? run : run * count);
    const auto step = static_cast<std::size_t>(problem.transposed ? count : 1);
    for (std::size_t i = 0; i < decoded.size(); ++i) values[begin + i * step] = decoded[i];
  }
  return values;
}

void add(ProductTruth& sum, const ProductTruth& slot, double weight) {
  const double size = std::fabs(weight);
  sum.value += weight * slot.value;
  sum.reach += size * slot.reach;
  sum.spread = std::hypot(sum.spread, size * slot.spread);
  sum.greatest_sum += size * slot.greatest_sum;
  sum.inherited_exact = std::hypot(sum.inherited_exact, size * slot.inherited_exact);
  sum.inherited_rounded = std::hypot(sum.inherited_rounded, size * slot.inherited_rounded);
}

}  // namespace nf4bench::operation
