#include "operation/layer_truth.hpp"

#include "base/parallel.hpp"
#include "layer.hpp"
#include "nf4/format.hpp"
#include "operation/judge.hpp"
#include "operation/product_truth.hpp"
#include "operation/routing.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace nf4bench::operation {
namespace {

using kernels::Activation;
using kernels::ActivationKind;
using kernels::Problem;

// So many values of what is activated are held at a time.
constexpr std::int64_t kMostHeld = std::int64_t{1} << 24;

// As kernels::activate() in float64.
double activate(const Activation& of, double gate, double up) {
  if (of.limit > 0.0f) {
    const double limit = of.limit;
    if (gate > limit) gate = limit;
    if (up > limit) up = limit;
    if (up < -limit) up = -limit;
  }
  switch (of.kind) {
    case ActivationKind::kSilu:
      return gate / (1.0 + std::exp(-gate)) * up;
    case ActivationKind::kGeluTanh: {
      const double inner = 0.7978845608 * (gate + 0.044715 * gate * gate * gate);
      return 0.5 * gate * (1.0 + std::tanh(inner)) * up;
    }
    case ActivationKind::kGptOss:
      return (up + 1.0) * (gate / (1.0 + std::exp(-double{of.alpha} * gate)));
    case ActivationKind::kRelu2:
      break;
  }
  return (gate <= 0.0 ? 0.0 : gate * gate) * up;
}

// An input of the second product, and how far it may be off.
struct Activated {
  double value = 0.0;
  float exact = 0.0f;
  float rounded = 0.0f;
  bool may_overflow = false;
};

// What a slot's gate and up lead to, each of which may be off by its budget, and then rounded. An
// activation is monotonous nearly everywhere over so little: both ends say how far it moves.
class Activator {
 public:
  explicit Activator(const Problem& layer)
      : of_(kernels::activation_of(layer)), bound_{layer.output_type, layer.inputs} {}

  const Activation& of() const { return of_; }

  // `up` is null where the activation takes one input.
  Activated operator()(const ProductTruth& gate, const ProductTruth* up) const {
    const kernels::ProductBound one = bounds_of(bound_, {{gate}}).front();
    const kernels::ProductBound other =
        up == nullptr ? kernels::ProductBound{.value = 1.0} : bounds_of(bound_, {{*up}}).front();
    Activated result;
    result.value = activate(of_, one.value, other.value);
    const double own =
        nf4::unit_roundoff(bound_.type) * std::fabs(result.value) + nf4::smallest_step(bound_.type);
    const double rounded = std::fabs(one.rounded);
    const double other_rounded = std::fabs(other.rounded);
    result.exact =
        static_cast<float>(moved({one.value, one.exact}, {other.value, other.exact}, own));
    result.rounded =
        static_cast<float>(moved({one.value, rounded}, {other.value, other_rounded}, own));
    const double greatest =
        std::max({std::fabs(one.value) + rounded, std::fabs(other.value) + other_rounded,
                  std::fabs(result.value) + double{result.rounded}});
    result.may_overflow = greatest > nf4::largest(bound_.type);
    return result;
  }

 private:
  struct Known {
    double value;
    double error;
  };

  // Both roundings stand for themselves, as `own`, that of the result, does.
  double moved(Known gate, Known up, double own) const {
    const double value = activate(of_, gate.value, up.value);
    const auto most = [&](double by_gate, double by_up) {
      return std::max(std::fabs(activate(of_, gate.value + by_gate, up.value + by_up) - value),
                      std::fabs(activate(of_, gate.value - by_gate, up.value - by_up) - value));
    };
    return std::hypot(most(gate.error, 0.0), most(0.0, up.error), own);
  }

  Activation of_;
  ErrorBound bound_;
};

// Lines of a matrix, or places in one, from the first to the last.
struct LineRange {
  std::int64_t first;
  std::int64_t last;

  std::int64_t count() const { return last - first + 1; }
};

// Tokens of a call that follow each other, and those of their slots that have an expert.
struct Tokens {
  std::int64_t first = 0;
  std::int64_t count = 0;
  std::map<std::int64_t, std::vector<std::int64_t>> slots_of_expert;
};

class LayerTruth {
 public:
  LayerTruth(const nf4::Nf4Tensor& weight, const Problem& problem, std::span<const std::byte> input)
      : weight_(weight),
        problem_(problem),
        up_(kernels::up_of(problem)),
        down_(kernels::down_of(problem)),
        activator_(problem),
        parts_(parts_of(problem, input)) {}

  // `only`: of one expert; -1: of all.
  Tokens tokens(std::int64_t first, std::int64_t count, std::int64_t only = -1) const;

  // What the part of each expert adds to the outputs of `tokens`, [tokens, part.outputs].
  std::vector<ProductTruth> add_up(const Tokens& tokens, const LayerPart& part) const;

 private:
  std::vector<Row> activated(const Tokens& tokens, const LayerPart& part) const;
  Row x(std::int64_t token) const {
    const std::size_t bytes =
        static_cast<std::size_t>(problem_.inputs) * nf4::size_in_bytes(problem_.output_type);
    return make_row(problem_.output_type,
                    parts_.rows.subspan(static_cast<std::size_t>(token) * bytes, bytes));
  }
  WeightRow up_row(std::int64_t expert, std::int64_t row) const {
    return weight_row(weight_, up_, element_of(up_, expert, row, 0));
  }

  const nf4::Nf4Tensor& weight_;
  const Problem& problem_;
  Problem up_;
  Problem down_;
  Activator activator_;
  CallParts parts_;
};

Tokens LayerTruth::tokens(std::int64_t first, std::int64_t count, std::int64_t only) const {
  const std::int64_t top_k = problem_.group.top_k;
  Tokens tokens{first, count, {}};
  for (std::int64_t slot = first * top_k; slot < (first + count) * top_k; ++slot) {
    const std::int64_t expert = expert_of(problem_, parts_, slot);
    if (expert < 0 || (only >= 0 && expert != only)) continue;
    tokens.slots_of_expert[expert].push_back(slot);
  }
  return tokens;
}

// Of each slot of `tokens`, from the first on; those without an expert are empty.
std::vector<Row> LayerTruth::activated(const Tokens& tokens, const LayerPart& part) const {
  const std::int64_t top_k = problem_.group.top_k;
  const Activation& of = activator_.of();
  std::vector<Row> x_rows(static_cast<std::size_t>(tokens.count));
  std::vector<Row> rows(static_cast<std::size_t>(tokens.count * top_k));
  const auto columns = static_cast<std::size_t>(part.columns);
  for (const auto& [expert, slots] : tokens.slots_of_expert) {
    for (const std::int64_t slot : slots) {
      Row& x_row = x_rows[static_cast<std::size_t>(slot / top_k - tokens.first)];
      if (x_row.values.empty()) x_row = x(slot / top_k);
      Row& row = rows[static_cast<std::size_t>(slot - tokens.first * top_k)];
      row.values.resize(columns);
      row.exact_errors.resize(columns);
      row.rounded_errors.resize(columns);
    }
  }
  std::vector<char> overflows(columns);
  parallel_for(part.columns, 1, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      const auto column = static_cast<std::size_t>(i);
      const std::int64_t gate_at = (part.first_column + i) * (of.interleaved ? 2 : 1);
      for (const auto& [expert, slots] : tokens.slots_of_expert) {
        const WeightRow gate = up_row(expert, gate_at);
        const WeightRow up =
            of.gated ? up_row(expert, gate_at + kernels::up_step(of)) : WeightRow{};
        for (const std::int64_t slot : slots) {
          const Row& from = x_rows[static_cast<std::size_t>(slot / top_k - tokens.first)];
          const ProductTruth other = of.gated ? dot(from, up) : ProductTruth{};
          const Activated found = activator_(dot(from, gate), of.gated ? &other : nullptr);
          Row& row = rows[static_cast<std::size_t>(slot - tokens.first * top_k)];
          row.values[column] = found.value;
          row.exact_errors[column] = found.exact;
          row.rounded_errors[column] = found.rounded;
          if (found.may_overflow) overflows[column] = 1;
        }
      }
    }
  });
  const bool may_overflow = std::ranges::find(overflows, 1) != overflows.end();
  for (Row& row : rows) {
    if (row.values.empty()) continue;
    Row whole = make_row(std::move(row.values));
    whole.exact_errors = std::move(row.exact_errors);
    whole.rounded_errors = std::move(row.rounded_errors);
    whole.may_overflow = may_overflow;
    row = std::move(whole);
  }
  return rows;
}

std::vector<ProductTruth> LayerTruth::add_up(const Tokens& tokens, const LayerPart& part) const {
  const std::vector<Row> rows = activated(tokens, part);
  std::vector<ProductTruth> truths(static_cast<std::size_t>(tokens.count * part.outputs));
  Problem some = down_;
  some.inputs = part.columns;
  parallel_for(part.outputs, 1, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      for (const auto& [expert, slots] : tokens.slots_of_expert) {
        const std::int64_t at_expert =
            element_of(down_, expert, part.first_output + i, part.first_column);
        const WeightRow w = weight_row(weight_, some, up_.elements + at_expert);
        for (const std::int64_t slot : slots) {
          const std::int64_t token = slot / problem_.group.top_k - tokens.first;
          const auto at = static_cast<std::size_t>(slot - tokens.first * problem_.group.top_k);
          add(truths[static_cast<std::size_t>(token * part.outputs + i)], dot(rows[at], w),
              slot_weight(parts_, slot));
        }
      }
    }
  });
  return truths;
}

}  // namespace

std::vector<ProductTruth> layer_truth(const nf4::Nf4Tensor& weight, const Problem& problem,
                                      std::span<const std::byte> input, std::int64_t most_values) {
  const LayerTruth layer(weight, problem, input);
  const std::int64_t count = std::min(problem.tokens * problem.outputs, most_values);
  const std::int64_t outputs = std::min(problem.outputs, count);
  const std::int64_t tokens = count == 0 ? 0 : (count + outputs - 1) / outputs;
  const LayerPart whole = {.outputs = outputs, .columns = problem.layer.columns};
  const std::int64_t step =
      std::max<std::int64_t>(1, kMostHeld / (problem.group.top_k * problem.layer.columns));
  std::vector<ProductTruth> truths;
  for (std::int64_t first = 0; first < tokens; first += step) {
    const std::vector<ProductTruth> some =
        layer.add_up(layer.tokens(first, std::min(step, tokens - first)), whole);
    truths.insert(truths.end(), some.begin(), some.end());
  }
  truths.resize(static_cast<std::size_t>(count));
  return truths;
}

LayerPart part_of_layer(const Problem& problem, std::int64_t first, std::int64_t count) {
  const Problem up = kernels::up_of(problem);
  const Activation of = kernels::activation_of(problem);
  const bool is_up = first < up.elements;
  const Problem stack = is_up ? up : kernels::down_of(problem);
  const std::int64_t matrix = stack.outputs * stack.inputs;
  const std::int64_t begin = (is_up ? first : first - up.elements) % matrix;
  LayerPart part = {.expert = (is_up ? first : first - up.elements) / matrix,
                    .first_output = 0,
                    .outputs = problem.outputs,
                    .first_column = 0,
                    .columns = problem.layer.columns};
  // Lines as they lie: rows, or of transposed matrices inputs.
  const std::int64_t length = stack.transposed ? stack.outputs : stack.inputs;
  const LineRange lines = {begin / length, (begin + count - 1) / length};
  const LineRange within = lines.count() == 1
                               ? LineRange{begin % length, begin % length + count - 1}
                               : LineRange{0, length - 1};
  const LineRange rows = stack.transposed ? within : lines;
  if (!is_up) {
    const LineRange columns = stack.transposed ? lines : within;
    part.first_output = rows.first;
    part.outputs = rows.count();
    part.first_column = columns.first;
    part.columns = columns.count();
    return part;
  }
  if (!of.interleaved && rows.first < of.columns && rows.last >= of.columns) return part;
  const auto column_of = [&](std::int64_t row) {
    return of.interleaved ? row / 2 : row % of.columns;
  };
  part.first_column = column_of(rows.first);
  part.columns = column_of(rows.last) - part.first_column + 1;
  return part;
}

std::vector<PlacedTruths> truth_of_layer_part(const nf4::Nf4Tensor& weight, const Problem& problem,
                                              std::span<const std::byte> input,
                                              const LayerPart& part, std::int64_t most_values) {
  const LayerTruth layer(weight, problem, input);
  const std::int64_t step = std::max<std::int64_t>(1, kMostHeld / 4 / part.outputs);
  const std::int64_t all = problem.tokens * problem.outputs;
  const std::int64_t compared =
      kernels::block_count(std::min(all, most_values), problem.outputs);  // tokens
  std::vector<PlacedTruths> placed;
  for (std::int64_t first = 0; first < compared; first += step) {
    const Tokens tokens = layer.tokens(first, std::min(step, compared - first), part.expert);
    if (tokens.slots_of_expert.empty()) continue;
    const std::vector<ProductTruth> truths = layer.add_up(tokens, part);
    std::int64_t last = -1;  // token
    for (const std::int64_t slot : tokens.slots_of_expert.begin()->second) {
      const std::int64_t token = slot / problem.group.top_k;
      const std::int64_t at = token * problem.outputs + part.first_output;
      if (at >= most_values) return placed;
      if (token == last) continue;  // it chose the expert twice
      last = token;
      const auto begin = truths.begin() + (token - first) * part.outputs;
      placed.push_back({at, {begin, begin + std::min(part.outputs, most_values - at)}});
    }
  }
  return placed;
}

}  // namespace nf4bench::operation
