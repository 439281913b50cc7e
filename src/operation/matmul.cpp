#include "operation/matmul.hpp"

#include "operation/activations.hpp"
#include "operation/judge.hpp"
#include "operation/probes.hpp"
#include "operation/product_truth.hpp"
#include "operation/routing.hpp"
#include "operation/weight.hpp"
#include "operation/wrong_output.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace nf4bench::operation {
namespace {

std::vector<kernels::Problem> problems_of(const kernels::Problem& weight,
                                          const record::RunOptions& options) {
  std::vector<kernels::Problem> problems;
  for (const std::int64_t tokens : options.tokens) {
    problems.push_back(weight);
    problems.back().tokens = tokens;
  }
  return problems;
}

Traffic traffic_of(const kernels::Problem& problem) {
  const auto size = static_cast<std::int64_t>(nf4::size_in_bytes(problem.output_type));
  return {.bytes_read = weight_bytes(problem) + call_bytes(problem),
          .bytes_written = output_rows(problem) * problem.outputs * size,
          .flops = 2.0 * computed_elements(problem)};
}

std::vector<std::byte> reference_of(const nf4::Nf4Tensor& weight, const kernels::Problem& problem,
                                    std::span<const std::byte> input, std::int64_t most_values) {
  return bytes_of(
      bounds_of({problem.output_type, problem.inputs},
                product_truth(weight, problem, input, most_outputs(most_values, problem.inputs))));
}

std::vector<ExpectedPart> reference_of_part(const nf4::Nf4Tensor& weight,
                                            const kernels::Problem& problem,
                                            std::span<const std::byte> input,
                                            nf4::ElementRange elements, std::int64_t most_values) {
  std::vector<ExpectedPart> parts;
  for (const PlacedTruths& each :
       product_truth_of_part(weight, problem, input, elements, most_values)) {
    parts.push_back(
        {each.first, bytes_of(bounds_of({problem.output_type, problem.inputs}, each.truths))});
  }
  return parts;
}

std::vector<std::byte> negated_bounds(const kernels::Problem&,
                                      std::span<const std::byte> expected) {
  std::vector<kernels::ProductBound> bounds = bounds_in(expected);
  for (kernels::ProductBound& each : bounds) each.value = -each.value;
  return bytes_of(bounds);
}

record::Verification judge(const kernels::Problem& problem, std::span<const std::byte> expected,
                           std::span<const std::byte> actual) {
  const std::vector<kernels::ProductBound> bounds = bounds_in(expected);
  const std::size_t bytes = bounds.size() * nf4::size_in_bytes(problem.output_type);
  return compare_products(problem.output_type, bounds,
                          actual.first(std::min(bytes, actual.size())));
}

Operation make_matmul() {
  Operation operation;
  operation.name = "matmul";
  operation.output_types = {nf4::OutputType::kFloat16, nf4::OutputType::kBfloat16};
  operation.takes = WeightKind::kMatrices;
  operation.problems = problems_of;
  operation.traffic = traffic_of;
  operation.has_tokens = true;
  operation.make_input = [](const kernels::Problem& problem, const record::RunOptions& options) {
    return make_activations(problem, options.activations, options.seed);
  };
  operation.sibling = negated;
  operation.sibling_reference = negated_bounds;
  operation.reference = reference_of;
  operation.reference_of_part = reference_of_part;
  operation.judge = judge;
  operation.probes = product_probes;
  operation.inputs_seen = product_inputs_seen;
  operation.expected_bytes = [](nf4::OutputType) -> std::int64_t {
    return sizeof(kernels::ProductBound);
  };
  operation.read_verdict = read_product_verdict;
  operation.explain = explain_product;
  operation.describe_fault = describe_error;
  operation.catalog = [](record::DeviceKind kind) -> const kernels::Catalog& {
    return kind == record::DeviceKind::kCuda ? kernels::cuda::matmul() : kernels::cpu::matmul();
  };
  return operation;
}

}  // namespace

std::int64_t most_outputs(std::int64_t most_values, std::int64_t inputs) {
  constexpr std::int64_t kProductsAValue = 16;
  if (most_values > std::numeric_limits<std::int64_t>::max() / kProductsAValue) return most_values;
  return std::max<std::int64_t>(1, most_values * kProductsAValue / inputs);
}

const Operation& matmul() {
  static const Operation operation = make_matmul();
  return operation;
}

namespace {

std::vector<kernels::Problem> transposed_problems(const kernels::Problem& weight,
                                                  const record::RunOptions& options) {
  std::vector<kernels::Problem> problems = matmul().problems(weight, options);
  for (kernels::Problem& problem : problems) {
    std::swap(problem.outputs, problem.inputs);
    problem.transposed = true;
  }
  return problems;
}

Operation make_backward() {
  Operation operation = matmul();
  operation.name = "backward";
  operation.problems = transposed_problems;
  operation.catalog = [](record::DeviceKind kind) -> const kernels::Catalog& {
    return kind == record::DeviceKind::kCuda ? kernels::cuda::backward() : kernels::cpu::backward();
  };
  return operation;
}

}  // namespace

const Operation& backward() {
  static const Operation operation = make_backward();
  return operation;
}

}  // namespace nf4bench::operation
