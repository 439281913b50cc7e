#pragma once

// A product with a stack of experts on the host, its truth in float64, and what an output may be
// off by.

#include "nf4/reference.hpp"
#include "nf4/synthetic.hpp"
#include "nf4/values.hpp"
#include "routing.hpp"

#include <cmath>
#include <cstring>
#include <random>
#include <span>
#include <vector>

namespace nf4bench::test {

struct GroupedSizes {
  std::int64_t experts = 4;
  std::int64_t top_k = 2;
  std::int64_t tokens = 5;
  std::int64_t outputs = 24;
  std::int64_t inputs = 64;
};

struct GroupedOptions {
  nf4::OutputType type = nf4::OutputType::kBfloat16;
  nf4::AbsmaxKind absmax = nf4::AbsmaxKind::kPlain;
  int blocksize = 64;
  kernels::Grouping group = {};  // but for experts and top_k
  bool transposed = false;
  bool has_bias = false;
  bool has_weights = false;
};

// Ids that choose top_k different experts for each token, evenly.
inline std::vector<std::int64_t> even_ids(const GroupedSizes& sizes, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::int64_t> all(static_cast<std::size_t>(sizes.experts));
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::int64_t>(i);
  std::vector<std::int64_t> ids;
  ids.reserve(static_cast<std::size_t>(sizes.tokens * sizes.top_k));
  for (std::int64_t token = 0; token < sizes.tokens; ++token) {
    for (std::int64_t i = 0; i < sizes.top_k; ++i) {
      const auto own = static_cast<std::size_t>(i % sizes.experts);
      std::swap(all[own], all[own + random() % (all.size() - own)]);
      ids.push_back(all[own]);
    }
  }
  return ids;
}

// What belongs to tokens, `rows`, in another order: token i of the result is token order[i].
inline std::vector<std::byte> in_order(const std::vector<std::byte>& rows,
                                       const std::vector<std::int64_t>& order) {
  const std::size_t bytes = rows.size() / order.size();
  std::vector<std::byte> result;
  result.reserve(rows.size());
  for (const std::int64_t token : order) {
    const auto begin = rows.begin() + token * static_cast<std::ptrdiff_t>(bytes);
    result.insert(result.end(), begin, begin + static_cast<std::ptrdiff_t>(bytes));
  }
  return result;
}

// An order of `tokens`, which are no multiple of 7.
inline std::vector<std::int64_t> shuffled(std::int64_t tokens) {
  std::vector<std::int64_t> order;
  for (std::int64_t i = 0; i < tokens; ++i) order.push_back((3 + 7 * i) % tokens);
  return order;
}

class GroupedCase {
 public:
  GroupedCase(const GroupedSizes& sizes, const GroupedOptions& options,
              const std::vector<std::int64_t>& chosen)
      : weight_(nf4::make_synthetic({.shape = {sizes.experts * sizes.outputs, sizes.inputs},
                                     .blocksize = options.blocksize,
                                     .absmax_kind = options.absmax})) {
    problem_.elements = weight_.elements;
    problem_.block_shift = __builtin_ctz(static_cast<unsigned>(options.blocksize));
    problem_.blocks = kernels::block_count(problem_.elements, options.blocksize);
    problem_.nested = weight_.is_nested();
    problem_.outputs = sizes.outputs;
    problem_.inputs = sizes.inputs;
    problem_.tokens = sizes.tokens;
    problem_.transposed = options.transposed;
    problem_.output_type = options.type;
    problem_.group = options.group;
    problem_.group.experts = sizes.experts;
    problem_.group.top_k = sizes.top_k;
    set_ids(chosen);
    const std::int64_t slots = kernels::slots_of(problem_);
    input = normal(input_rows(problem_), sizes.inputs, 3);
    if (options.has_bias) bias = normal(sizes.experts, sizes.outputs, 4);
    if (options.has_weights) weights = normal(slots, 1, 5);
    offsets.assign(static_cast<std::size_t>(problem_.group.own_offsets ? sizes.experts : 1),
                   weight_.nested_offset);
    for (std::size_t i = 0; i < offsets.size(); ++i) offsets[i] += static_cast<float>(i) * 0.01f;
  }

  const kernels::Problem& problem() const { return problem_; }
  nf4::Nf4Tensor& weight() { return weight_; }
  const nf4::Nf4Tensor& weight() const { return weight_; }

  void set_ids(const std::vector<std::int64_t>& given) {
    ids.resize(given.size() * static_cast<std::size_t>(problem_.group.id_bytes));
    for (std::size_t i = 0; i < given.size(); ++i) {
      const auto narrow = static_cast<std::int32_t>(given[i]);
      std::byte* at = ids.data() + i * static_cast<std::size_t>(problem_.group.id_bytes);
      if (problem_.group.id_bytes == 8) {
        std::memcpy(at, &given[i], 8);
      } else {
        std::memcpy(at, &narrow, 4);
      }
    }
  }

  void reorder(const std::vector<std::int64_t>& order) {
    input = in_order(input, order);
    weights = in_order(weights, order);
    ids = in_order(ids, order);
  }

  std::size_t output_bytes() const {
    const std::int64_t rows =
        problem_.group.sums_slots ? problem_.tokens : kernels::slots_of(problem_);
    return static_cast<std::size_t>(rows * problem_.outputs) * size_in_bytes(problem_.output_type);
  }

  // With all buffers but the output and the workspace.
  kernels::Job job() const {
    kernels::Job job;
    static_cast<kernels::Problem&>(job) = problem_;
    job.packed = weight_.packed.data();
    job.absmax = weight_.absmax.data();
    job.absmax_codes = weight_.absmax_codes.data();
    job.nested_absmax = weight_.nested_absmax.data();
    job.nested_map = weight_.nested_map.data();
    job.nested_offset = offsets.data();
    job.input = input.data();
    job.bias = bias.empty() ? nullptr : bias.data();
    job.ids = ids.data();
    job.slot_weights = weights.empty() ? nullptr : weights.data();
    job.slot_weight_type = problem_.output_type;
    return job;
  }

  // How many outputs are wrong; says which is the first.
  std::string judge(std::span<const std::byte> output) const {
    const kernels::Job job = this->job();
    const std::int64_t added = problem_.group.sums_slots ? problem_.group.top_k : 1;
    const double unit = nf4::unit_roundoff(problem_.output_type);
    const Decoded decoded = decode();
    for (std::int64_t row = 0; row < kernels::slots_of(problem_) / added; ++row) {
      for (std::int64_t n = 0; n < problem_.outputs; ++n) {
        Sum sum;
        for (std::int64_t i = 0; i < added; ++i) {
          add_slot(job, decoded, row * added + i, n, unit, sum);
        }
        const double actual =
            nf4::value_at(problem_.output_type, output, row * problem_.outputs + n);
        const double budget = sum.budget + 1.01 * unit * std::fabs(sum.value);
        if (std::isnan(sum.value) ? std::isnan(actual) : std::fabs(actual - sum.value) <= budget) {
          continue;
        }
        return "row " + std::to_string(row) + ", output " + std::to_string(n) + ": " +
               std::to_string(actual) + " is not " + std::to_string(sum.value) + " +- " +
               std::to_string(budget);
      }
    }
    return {};
  }

  std::vector<std::byte> input;
  std::vector<std::byte> bias;
  std::vector<std::byte> weights;
  std::vector<std::byte> ids;
  std::vector<float> offsets;

 private:
  struct Sum {
    double value = 0.0;
    double budget = 0.0;
  };

  // The weight, element by element, and the input. Decoded once, as each is read by many outputs.
  struct Decoded {
    std::vector<float> weight;
    std::vector<double> input;
  };

  std::vector<std::byte> normal(std::int64_t rows, std::int64_t columns, unsigned seed) const {
    std::mt19937 random(seed);
    std::vector<double> values(static_cast<std::size_t>(rows * columns));
    for (double& value : values) {
      value = (static_cast<double>(random() % 20001) - 10000.0) / 7000.0;
    }
    return nf4::to_values(problem_.output_type, values);
  }

  Decoded decode() const {
    Decoded decoded = {std::vector<float>(static_cast<std::size_t>(problem_.elements)),
                       nf4::to_doubles(problem_.output_type, input)};
    const std::int64_t size = problem_.outputs * problem_.inputs;
    const auto bytes = std::as_writable_bytes(std::span(decoded.weight));
    const std::size_t matrix_bytes = static_cast<std::size_t>(size) * sizeof(float);
    nf4::Nf4Tensor weight = weight_;
    for (std::int64_t expert = 0; expert < problem_.group.experts; ++expert) {
      const auto index = static_cast<std::size_t>(expert);
      weight.nested_offset = offsets[problem_.group.own_offsets ? index : 0];
      nf4::reference_dequantize(weight, nf4::OutputType::kFloat32, {expert * size, size},
                                bytes.subspan(index * matrix_bytes, matrix_bytes));
    }
    return decoded;
  }

  void add_slot(const kernels::Job& job, const Decoded& decoded, std::int64_t slot, std::int64_t n,
                double unit, Sum& sum) const {
    const int expert = kernels::expert_of(job, slot);
    if (expert < 0) return;
    double value = 0.0;
    double reach = 0.0;
    double squares = 0.0;
    for (std::int64_t k = 0; k < problem_.inputs; ++k) {
      const std::int64_t element = kernels::element_of(job, expert, n, k);
      const std::int64_t at = kernels::input_row(job, slot) * problem_.inputs + k;
      const double product = double{decoded.weight[static_cast<std::size_t>(element)]} *
                             decoded.input[static_cast<std::size_t>(at)];
      value += product;
      reach += std::fabs(product);
      squares += product * product;
    }
    if (!bias.empty()) {
      value += nf4::value_at(problem_.output_type, bias, expert * problem_.outputs + n);
    }
    const double weight =
        weights.empty() ? 1.0 : nf4::value_at(problem_.output_type, weights, slot);
    const double inputs = std::sqrt(static_cast<double>(problem_.inputs));
    sum.value += weight * value;
    sum.budget +=
        std::fabs(weight) * (8.0 * inputs * 0x1p-23 * reach + 4.0 * unit * std::sqrt(squares) +
                             0x1p-22 * std::fabs(value)) +
        0x1p-24;
  }

  nf4::Nf4Tensor weight_;
  kernels::Problem problem_;
};

}  // namespace nf4bench::test
