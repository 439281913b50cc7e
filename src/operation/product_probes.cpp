#include "base/parallel.hpp"
#include "nf4/random.hpp"
#include "nf4/reference.hpp"
#include "nf4/values.hpp"
#include "operation/activations.hpp"
#include "operation/judge.hpp"
#include "operation/probes.hpp"
#include "operation/product_truth.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

namespace nf4bench::operation {
namespace {

using kernels::Problem;
using kernels::ProductBound;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Streams of random words, apart from those of activations.
constexpr std::uint64_t kWalk = 0x77616c6b73746570u;
constexpr std::uint64_t kPlaces = 0x706c61636573696eu;
constexpr std::uint64_t kSigns = 0x7369676e73616c6cu;

// What probes may cost for each variant or, where the host computes what is expected, in all.
struct Limits {
  std::int64_t steps = 0;     // of a walk
  double walk_products = 0;   // all its steps together
  double sample_bytes = 0;    // that all outputs of one which cannot visit all inputs are held to
  double truth_products = 0;  // that the host sums in float64 for one step
  double exact_products = 0;  // all sums of signs together
};

Limits limits_of(const record::RunOptions& options, record::DeviceKind device) {
  Limits limits = device == record::DeviceKind::kCuda ? Limits{512, 0x1p43, 0x1p28, 0x1p30, 0x1p43}
                                                      : Limits{512, 0x1p28, 0x1p28, 0x1p26, 0x1p31};
  if (options.verify != record::VerifyScope::kAll) {
    limits.steps = 16;
    limits.truth_products = std::min(limits.truth_products, 0x1p28);
    limits.exact_products = 0;
  }
  return limits;
}

// ---- One weight at a time ----

// Which inputs a walk visits: all of them in turn, or one of each of as many equal stretches.
class Walk {
 public:
  Walk(const Problem& problem, const Limits& limits, std::uint64_t seed)
      : problem_(problem), words_(seed, kWalk) {
    const auto tokens = static_cast<double>(problem.tokens);
    const double products = tokens * static_cast<double>(problem.elements);
    const double bytes = tokens * static_cast<double>(problem.outputs) * sizeof(ProductBound);
    const std::int64_t all = kernels::block_count(problem.inputs, problem.tokens);
    is_whole_ = all <= limits.steps && static_cast<double>(all) * products <= limits.walk_products;
    if (is_whole_) {
      steps_ = all;
      return;
    }
    const double affordable =
        std::min(limits.walk_products / products, limits.sample_bytes / bytes);
    steps_ = std::clamp<std::int64_t>(static_cast<std::int64_t>(affordable), 1,
                                      std::min(all, limits.steps));
  }

  std::int64_t steps() const { return steps_; }
  // How many inputs some token has alone.
  std::int64_t inputs() const { return std::min(steps_ * problem_.tokens, problem_.inputs); }

  // The input that `token` has alone.
  std::int64_t input(std::int64_t step, std::int64_t token) const {
    const std::int64_t visit = step * problem_.tokens + token;
    if (is_whole_) return visit % problem_.inputs;
    const std::int64_t visits = steps_ * problem_.tokens;
    const std::int64_t first = visit * problem_.inputs / visits;
    const std::int64_t last = std::max(first + 1, (visit + 1) * problem_.inputs / visits);
    const auto stretch = static_cast<std::uint64_t>(last - first);
    return first + static_cast<std::int64_t>(words_.at(visit) % stretch);
  }

 private:
  Problem problem_;
  nf4::RandomStream words_;
  std::int64_t steps_ = 1;
  bool is_whole_ = true;
};

// The distance from `value`, a number of `type`, to the next one.
double unit_at(nf4::OutputType type, double value) {
  if (value == 0.0 || !std::isfinite(value)) return nf4::smallest_step(type);
  int exponent = 0;
  std::frexp(value, &exponent);
  return std::max(nf4::smallest_step(type), std::ldexp(nf4::unit_roundoff(type), exponent));
}

// The weights of W in the type of the problem.
class Weights {
 public:
  Weights(const nf4::Nf4Tensor& weight, const Problem& problem)
      : weight_(weight), problem_(problem) {}

  // Of some rows, at these inputs, row by row.
  std::vector<double> at(const RowRange& rows, std::span<const std::int64_t> inputs) const;

  // The inputs of row `n` at which its weights are infinite or NaN.
  std::vector<std::int64_t> odd_inputs(std::int64_t n) const;

  double scale(std::int64_t n, std::int64_t k) const {
    const std::int64_t block = element_of(problem_, 0, n, k) / weight_.blocksize;
    return std::fabs(nf4::block_scale(weight_, block));
  }

  // The rows that may have such: nearly always none.
  std::vector<bool> odd_rows() const;

 private:
  const nf4::Nf4Tensor& weight_;
  const Problem& problem_;
};

// Neighbours are decoded together.
std::vector<double> Weights::at(const RowRange& rows, std::span<const std::int64_t> inputs) const {
  std::vector<double> values(static_cast<std::size_t>(rows.count) * inputs.size());
  for (std::size_t first = 0, last = 0; first < inputs.size(); first = last) {
    for (last = first + 1; last < inputs.size() && inputs[last] == inputs[last - 1] + 1;) ++last;
    const std::vector<double> found = weight_values(weight_, problem_, rows, inputs[first],
                                                    static_cast<std::int64_t>(last - first));
    for (std::size_t i = 0; i < found.size(); ++i) {
      const std::size_t count = last - first;
      values[i / count * inputs.size() + first + i % count] = found[i];
    }
  }
  return values;
}

std::vector<std::int64_t> Weights::odd_inputs(std::int64_t n) const {
  const std::vector<double> values =
      weight_values(weight_, problem_, {.first = n}, 0, problem_.inputs);
  std::vector<std::int64_t> inputs;
  for (std::size_t k = 0; k < values.size(); ++k) {
    if (!std::isfinite(values[k])) inputs.push_back(static_cast<std::int64_t>(k));
  }
  return inputs;
}

std::vector<bool> Weights::odd_rows() const {
  std::vector<bool> is_odd(static_cast<std::size_t>(problem_.outputs));
  for (std::int64_t block = 0; block < weight_.blocks(); ++block) {
    if (std::fabs(nf4::block_scale(weight_, block)) < nf4::largest(problem_.output_type)) continue;
    const std::int64_t first = block * weight_.blocksize;
    const std::int64_t last = std::min(first + weight_.blocksize, weight_.elements);
    for (std::int64_t i = first; i < last; ++i) {
      const std::int64_t n = problem_.transposed ? i % problem_.outputs : i / problem_.inputs;
      is_odd[static_cast<std::size_t>(n)] = true;
    }
  }
  return is_odd;
}

// What y may be when it is one weight of this value, in a block of this scale.
ProductBound bound_alone(nf4::OutputType type, double value, double scale) {
  const double exact = unit_at(type, value);
  // Codebook value, scale and product rounded, and one for all else.
  const double share = type == nf4::OutputType::kFloat32 ? 0.0 : 4.0 * nf4::unit_roundoff(type);
  const double rounded = std::isfinite(scale) ? std::max(exact, share * scale) : exact;
  return {value, static_cast<float>(exact), static_cast<float>(rounded)};
}

// One step of a walk, as bytes_of() gives bounds: what y may be where token m is 1 at inputs[m] and
// 0 elsewhere. Written in place: there may be a lot of it.
std::vector<std::byte> bounds_alone(const Problem& problem, const Weights& weights,
                                    const std::vector<bool>& is_odd,
                                    std::span<const std::int64_t> inputs) {
  const auto outputs = static_cast<std::size_t>(problem.outputs);
  std::vector<std::byte> bounds(inputs.size() * outputs * sizeof(ProductBound));
  const std::int64_t step = rows_at_once(problem);
  const auto fill_in = [&](std::int64_t n, std::span<double> values) {
    if (is_odd[static_cast<std::size_t>(n)]) {
      for (const std::int64_t odd : weights.odd_inputs(n)) {
        for (std::size_t m = 0; m < inputs.size(); ++m) {
          if (inputs[m] != odd) values[m] = kNan;  // 0 times infinity
        }
      }
    }
    for (std::size_t m = 0; m < inputs.size(); ++m) {
      const ProductBound bound =
          bound_alone(problem.output_type, values[m], weights.scale(n, inputs[m]));
      const std::size_t at = m * outputs + static_cast<std::size_t>(n);
      std::memcpy(bounds.data() + at * sizeof(bound), &bound, sizeof(bound));
    }
  };
  parallel_for(problem.outputs, step, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t n = first; n < last; n += step) {
      const std::int64_t count = std::min(step, last - n);
      std::vector<double> values = weights.at({.first = n, .count = count}, inputs);
      for (std::int64_t i = 0; i < count; ++i) {
        fill_in(n + i, std::span(values).subspan(static_cast<std::size_t>(i) * inputs.size(),
                                                 inputs.size()));
      }
    }
  });
  return bounds;
}

Probe one_at_a_time(const Problem& problem, const Walk& walk) {
  Probe probe;
  probe.steps = walk.steps();
  probe.make = [problem, walk, is_odd = std::vector<bool>()](const nf4::Nf4Tensor& weight,
                                                             std::int64_t step) mutable {
    const Weights weights(weight, problem);
    if (is_odd.empty()) is_odd = weights.odd_rows();
    std::vector<double> x(static_cast<std::size_t>(problem.tokens * problem.inputs));
    std::vector<std::int64_t> inputs;
    for (std::int64_t m = 0; m < problem.tokens; ++m) {
      inputs.push_back(walk.input(step, m));
      x[static_cast<std::size_t>(m * problem.inputs + inputs.back())] = 1.0;
    }
    return ProbeStep{fmt::format("with one input at a time, from {} on", inputs.front()),
                     nf4::to_values(problem.output_type, x),
                     bounds_alone(problem, weights, is_odd, inputs)};
  };
  return probe;
}

// ---- Sums that are exact in any order ----

// At scale 1 weights of 16 bits are multiples of 2^-14 up to 1, so that so many of them under
// scales of up to 2 sum up to 2^24 of these at most: float32 holds every sum.
constexpr std::int64_t kMostSummed = 512;

// 1 and -1 at random places, as many for each token.
std::vector<std::byte> whole_numbers(const Problem& problem, std::uint64_t seed) {
  const nf4::RandomStream words(seed, kPlaces);
  const std::int64_t count = std::min(problem.inputs, kMostSummed);
  std::vector<double> x(static_cast<std::size_t>(problem.tokens * problem.inputs));
  for (std::int64_t i = 0; i < problem.tokens * count; ++i) {
    const std::int64_t first = i % count * problem.inputs / count;
    const std::int64_t last = (i % count + 1) * problem.inputs / count;
    const std::uint64_t word = words.at(i);
    const auto at =
        first + static_cast<std::int64_t>((word >> 1) % static_cast<std::uint64_t>(last - first));
    x[static_cast<std::size_t>(i / count * problem.inputs + at)] = word % 2 == 0 ? 1.0 : -1.0;
  }
  return nf4::to_values(problem.output_type, x);
}

// A step that is held to the truth, as many of its outputs as the host can sum up.
class TruthStep {
 public:
  TruthStep(const Problem& problem, const Limits& limits)
      : problem_(problem),
        values_(std::max<std::int64_t>(
            1, static_cast<std::int64_t>(limits.truth_products /
                                         static_cast<double>(problem.inputs)))) {}

  std::vector<ProductBound> bounds(const nf4::Nf4Tensor& weight,
                                   std::span<const std::byte> input) const {
    return bounds_of({problem_.output_type, problem_.inputs},
                     product_truth(weight, problem_, input, values_));
  }

  ProbeStep make(std::string name, const nf4::Nf4Tensor& weight,
                 std::vector<std::byte> input) const {
    ProbeStep step = {std::move(name), std::move(input), {}};
    step.expected = bytes_of(bounds(weight, step.input));
    return step;
  }

 private:
  Problem problem_;
  std::int64_t values_;
};

Probe exact_sums(const Problem& problem, const TruthStep& truth, std::uint64_t seed) {
  Probe probe;
  probe.change = with_powers_of_two;
  probe.make = [problem, truth, seed](const nf4::Nf4Tensor& weight, std::int64_t) {
    ProbeStep step = {"with sums that are exact in any order", whole_numbers(problem, seed), {}};
    std::vector<ProductBound> bounds = truth.bounds(weight, step.input);
    for (ProductBound& bound : bounds) {
      bound.value = nf4::value_at(problem.output_type,
                                  nf4::to_values(problem.output_type, {{bound.value}}), 0);
      bound.exact = 0.0f;
    }
    step.expected = bytes_of(bounds);
    return step;
  };
  return probe;
}

// ---- Every code, in sums of signs ----

// Consecutive inputs that a token has as 1 or -1, and 0 elsewhere: as few as fill the rows of some
// calls with all inputs.
class SignSums {
 public:
  SignSums(const Problem& problem, const Limits& limits, std::uint64_t seed)
      : problem_(problem), words_(seed, kSigns) {
    const double products =
        static_cast<double>(problem.tokens) * static_cast<double>(problem.elements);
    const std::int64_t all = kernels::block_count(sets(), problem.tokens);
    steps_ = std::clamp<std::int64_t>(static_cast<std::int64_t>(limits.exact_products / products),
                                      1, std::min<std::int64_t>(all, 512));
  }

  std::int64_t steps() const { return steps_; }

  // How many inputs some token has.
  std::int64_t inputs() const {
    return std::min(steps_ * problem_.tokens * kMostSummed, problem_.inputs);
  }

  ProbeStep make(const nf4::Nf4Tensor& weight, std::int64_t step) const;

 private:
  std::int64_t sets() const { return kernels::block_count(problem_.inputs, kMostSummed); }
  std::int64_t first(std::int64_t step, std::int64_t token) const {
    return (step * problem_.tokens + token) % sets() * kMostSummed;
  }
  std::vector<double> sums(const nf4::Nf4Tensor& weight, const RowRange& rows,
                           std::span<const double> x, std::int64_t first) const;

  Problem problem_;
  nf4::RandomStream words_;
  std::int64_t steps_ = 1;
};

// Of some rows over the inputs from `first` on, of a token whose activations are `x`.
std::vector<double> SignSums::sums(const nf4::Nf4Tensor& weight, const RowRange& rows,
                                   std::span<const double> x, std::int64_t first) const {
  const std::int64_t count = std::min(kMostSummed, problem_.inputs - first);
  const std::vector<double> w = weight_values(weight, problem_, rows, first, count);
  std::vector<double> sums;
  for (auto row = w.begin(); row != w.end(); row += count) {
    sums.push_back(std::inner_product(row, row + count, x.begin() + first, 0.0));
  }
  return sums;
}

// The sums are whole, and those of a wrong code are off by a quarter or more. What is off by less
// is due to how a kernel rounds weights.
ProbeStep SignSums::make(const nf4::Nf4Tensor& weight, std::int64_t step) const {
  constexpr float kTolerance = 0.2f;
  std::vector<double> x(static_cast<std::size_t>(problem_.tokens * problem_.inputs));
  for (std::int64_t m = 0; m < problem_.tokens; ++m) {
    const std::int64_t begin = first(step, m);
    for (std::int64_t k = begin; k < std::min(begin + kMostSummed, problem_.inputs); ++k) {
      const std::int64_t at = m * problem_.inputs + k;
      x[static_cast<std::size_t>(at)] = words_.at(at) % 2 == 0 ? 1.0 : -1.0;
    }
  }
  // Further tokens have the inputs of these.
  const std::int64_t tokens = std::min(problem_.tokens, sets());
  const auto outputs = static_cast<std::size_t>(problem_.outputs);
  std::vector<ProductBound> bounds(static_cast<std::size_t>(tokens) * outputs);
  const std::int64_t rows = rows_at_once(problem_);
  parallel_for(problem_.outputs, rows, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t n = begin; n < end; n += rows) {
      for (std::int64_t m = 0; m < tokens; ++m) {
        const auto row = std::span(x).subspan(static_cast<std::size_t>(m * problem_.inputs));
        std::size_t at = static_cast<std::size_t>(m) * outputs + static_cast<std::size_t>(n);
        for (const double y :
             sums(weight, {.first = n, .count = std::min(rows, end - n)}, row, first(step, m))) {
          const double rounded =
              nf4::value_at(problem_.output_type, nf4::to_values(problem_.output_type, {{y}}), 0);
          bounds[at++] = {rounded, 0.0f, kTolerance};
        }
      }
    }
  });
  return {fmt::format("with sums of the signs of all weights, from input {} on", first(step, 0)),
          nf4::to_values(problem_.output_type, x), bytes_of(bounds)};
}

Probe sums_of_signs(const SignSums& sums) {
  Probe probe;
  probe.change = with_signs;
  probe.steps = sums.steps();
  probe.make = [sums](const nf4::Nf4Tensor& weight, std::int64_t step) {
    return sums.make(weight, step);
  };
  return probe;
}

// ---- Values that are out of the ordinary ----

// An input of the activations whose place is drawn.
std::int64_t drawn_input(const Problem& problem, std::uint64_t seed, std::int64_t number) {
  const std::uint64_t word = nf4::RandomStream(seed, kPlaces).at(-1 - number);
  return static_cast<std::int64_t>(word % static_cast<std::uint64_t>(problem.inputs));
}

Probe odd_activations(const Problem& problem, const TruthStep& truth, std::uint64_t seed) {
  Probe probe;
  probe.steps = 3;
  probe.make = [problem, truth, seed](const nf4::Nf4Tensor& weight, std::int64_t step) {
    const nf4::OutputType type = problem.output_type;
    std::vector<double> x =
        nf4::to_doubles(type, make_activations(problem, record::Activations::kNormal, seed));
    const std::int64_t k = drawn_input(problem, seed, step);
    const std::int64_t second = std::min<std::int64_t>(1, problem.tokens - 1) * problem.inputs;
    if (step == 0) {
      for (std::int64_t m = 0; m < problem.tokens; ++m) {
        x[static_cast<std::size_t>(m * problem.inputs + k)] *= 100.0;
      }
      return truth.make(fmt::format("with input {} a hundred times as large", k), weight,
                        nf4::to_values(type, x));
    }
    const bool is_nan = step == 1;
    x[static_cast<std::size_t>(is_nan ? k : second + k)] = is_nan ? kNan : kInfinity;
    return truth.make(fmt::format("with {} at input {}", is_nan ? "NaN" : "infinity", k), weight,
                      nf4::to_values(type, x));
  };
  return probe;
}

// One block's scale is infinite and, if there are two, that of another NaN.
nf4::Nf4Tensor with_odd_scales(const nf4::Nf4Tensor& weight) {
  nf4::Nf4Tensor result = weight;
  const std::int64_t blocks = result.blocks();
  const auto infinite = static_cast<std::size_t>(blocks / 3);
  const auto nan = static_cast<std::size_t>(blocks * 2 / 3);
  if (!result.is_nested()) {
    result.absmax[nan] = kNan;
    result.absmax[infinite] = kInfinity;
    return result;
  }
  for (std::uint8_t& code : result.absmax_codes) code = std::min<std::uint8_t>(code, 253);
  result.nested_map[254] = kNan;
  result.nested_map[255] = kInfinity;
  result.absmax_codes[nan] = 254;
  result.absmax_codes[infinite] = 255;
  return result;
}

Probe odd_scales(const Problem& problem, const TruthStep& truth, std::uint64_t seed) {
  Probe probe;
  probe.change = with_odd_scales;
  probe.make = [problem, truth, seed](const nf4::Nf4Tensor& weight, std::int64_t) {
    return truth.make("with an infinite scale and one that is NaN", weight,
                      make_activations(problem, record::Activations::kNormal, seed));
  };
  return probe;
}

}  // namespace

nf4::Nf4Tensor with_powers_of_two(const nf4::Nf4Tensor& weight) {
  nf4::Nf4Tensor result = weight;
  for (std::size_t i = 0; i < result.absmax.size(); ++i)
    result.absmax[i] = i % 2 == 0 ? 1.0f : 2.0f;
  for (std::size_t i = 0; i < result.nested_map.size(); ++i) {
    result.nested_map[i] = i % 2 == 0 ? 1.0f : 2.0f;
  }
  std::ranges::fill(result.nested_absmax, 1.0f);
  result.nested_offset = 0.0f;
  return result;
}

nf4::Nf4Tensor with_signs(const nf4::Nf4Tensor& weight) {
  nf4::Nf4Tensor result = with_powers_of_two(weight);
  for (std::uint8_t& pair : result.packed) {
    pair = static_cast<std::uint8_t>((pair & 0x80u ? 0xf0u : 0u) | (pair & 0x08u ? 0x0fu : 0u));
  }
  return result;
}

std::vector<Probe> product_probes(const Problem& problem, const record::RunOptions& options,
                                  record::DeviceKind device) {
  if (problem.elements == 0) return {};
  const Limits limits = limits_of(options, device);
  const TruthStep truth(problem, limits);
  std::vector<Probe> probes = {one_at_a_time(problem, Walk(problem, limits, options.seed))};
  if (problem.output_type != nf4::OutputType::kFloat32) {  // which no sum of float32 can hold
    probes.push_back(exact_sums(problem, truth, options.seed));
  }
  probes.push_back(sums_of_signs(SignSums(problem, limits, options.seed)));
  probes.push_back(odd_activations(problem, truth, options.seed));
  probes.push_back(odd_scales(problem, truth, options.seed));
  return probes;
}

record::InputsSeen product_inputs_seen(const kernels::Problem& problem,
                                       const record::RunOptions& options,
                                       record::DeviceKind device) {
  if (problem.elements == 0) return {};
  const Limits limits = limits_of(options, device);
  return {.alone = Walk(problem, limits, options.seed).inputs(),
          .summed = SignSums(problem, limits, options.seed).inputs()};
}

}  // namespace nf4bench::operation
