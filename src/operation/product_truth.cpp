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

}  // namespace nf4bench::operation
