#include "operation/product_truth.hpp"

#include "base/parallel.hpp"
#include "operation/product_rows.hpp"
#include "operation/routing.hpp"

#include <algorithm>

namespace nf4bench::operation {
namespace {

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
        const WeightRow w = weight_row(
            weight, problem, (static_cast<std::int64_t>(expert) * outputs + n) * problem.inputs);
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
  const WeightRow own = weight_row(weight, problem, n * problem.inputs);
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
                          : dot(x, weight_row(weight, problem,
                                              (other * problem.outputs + column) * problem.inputs));
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
