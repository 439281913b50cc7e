#include "operation/dequantize.hpp"

#include "base/parallel.hpp"
#include "nf4/reference.hpp"
#include "operation/judge.hpp"
#include "operation/weight.hpp"
#include "operation/wrong_output.hpp"

#include <algorithm>
#include <utility>

namespace nf4bench::operation {
namespace {

Traffic traffic_of(const kernels::Problem& problem) {
  const auto size = static_cast<std::int64_t>(nf4::size_in_bytes(problem.output_type));
  return {.bytes_read = weight_bytes(problem), .bytes_written = problem.elements * size};
}

std::vector<std::byte> reference_of(const nf4::Nf4Tensor& weight, const kernels::Problem& problem,
                                    std::span<const std::byte>, std::int64_t most_values) {
  const nf4::OutputType type = problem.output_type;
  if (weight.elements <= most_values) return nf4::reference_dequantize(weight, type);
  std::vector<std::byte> expected(static_cast<std::size_t>(most_values) * nf4::size_in_bytes(type));
  nf4::reference_dequantize(weight, type, {0, most_values}, expected);
  return expected;
}

std::vector<ExpectedPart> reference_of_part(const nf4::Nf4Tensor& weight,
                                            const kernels::Problem& problem,
                                            std::span<const std::byte>, nf4::ElementRange elements,
                                            std::int64_t most_values) {
  elements.count = std::min(elements.count, most_values - elements.first);
  if (elements.count <= 0) return {};
  std::vector<std::byte> expected(static_cast<std::size_t>(elements.count) *
                                  nf4::size_in_bytes(problem.output_type));
  nf4::reference_dequantize(weight, problem.output_type, elements, expected);
  return {{elements.first, std::move(expected)}};
}

// Rounding knows no sign, so that negative scales give the same values with the other one.
std::vector<std::byte> negated_values(const kernels::Problem& problem,
                                      std::span<const std::byte> expected) {
  const auto size = static_cast<std::int64_t>(nf4::size_in_bytes(problem.output_type));
  std::vector<std::byte> values(expected.begin(), expected.end());
  constexpr std::int64_t kGrain = 1 << 20;
  const auto count = static_cast<std::int64_t>(values.size()) / size;
  parallel_for(count, kGrain, [&](std::int64_t first, std::int64_t last) {
    // The sign is the top bit of the last byte: values are little-endian.
    for (std::int64_t i = first; i < last; ++i) {
      values[static_cast<std::size_t>((i + 1) * size - 1)] ^= std::byte{0x80};
    }
  });
  return values;
}

Operation make_dequantize() {
  Operation operation;
  operation.name = "dequantize";
  operation.problems = [](const kernels::Problem& weight, const record::RunOptions&) {
    return std::vector{weight};
  };
  operation.traffic = traffic_of;
  operation.sibling = negated;
  operation.sibling_reference = negated_values;
  operation.reference = reference_of;
  operation.reference_of_part = reference_of_part;
  operation.judge = [](const kernels::Problem& problem, std::span<const std::byte> expected,
                       std::span<const std::byte> actual) {
    return compare_outputs(problem.output_type, expected, actual);
  };
  operation.expected_bytes = [](nf4::OutputType type) {
    return static_cast<std::int64_t>(nf4::size_in_bytes(type));
  };
  operation.read_verdict = read_mismatches;
  operation.explain = explain_decoded;
  operation.describe_fault = describe_mismatch;
  operation.catalog = [](record::DeviceKind kind) -> const kernels::Catalog& {
    return kind == record::DeviceKind::kCuda ? kernels::cuda::dequantize()
                                             : kernels::cpu::dequantize();
  };
  return operation;
}

}  // namespace

const Operation& dequantize() {
  static const Operation operation = make_dequantize();
  return operation;
}

}  // namespace nf4bench::operation
