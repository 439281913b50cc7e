#include "operation/experts.hpp"

#include "operation/judge.hpp"
#include "operation/layer_truth.hpp"
#include "operation/matmul.hpp"
#include "operation/probes.hpp"
#include "operation/routing.hpp"

#include <memory>
#include <utility>

namespace nf4bench::operation {
namespace {

std::uint64_t seed_of(const record::RunOptions& options, Turn turn) {
  constexpr std::uint64_t kOther = 0x9e3779b97f4a7c15u;
  return turn == Turn::kOwn ? options.seed : options.seed ^ kOther;
}

// An activation is not odd: the layer of a negated weight has the negative outputs of negated rows.
std::vector<std::byte> mirrored(const kernels::Problem& problem, std::span<const std::byte> input) {
  std::vector<std::byte> result(input.begin(), input.end());
  if (problem.layer.columns == 0) return result;
  negate(problem.output_type,
         std::span(result).first(static_cast<std::size_t>(row_bytes(problem))));
  return result;
}

Operation make_experts() {
  Operation operation = matmul();
  operation.name = "experts";
  operation.takes = WeightKind::kStacks;
  operation.has_routing = true;
  operation.make_routing = [](const kernels::Problem& problem, const record::RunOptions& options,
                              Turn turn) {
    const std::uint64_t seed = seed_of(options, turn);
    return routing_bytes(problem, draw_ids(problem, parse_routing(options.routing), seed), seed);
  };
  operation.reference = [](const nf4::Nf4Tensor& weight, const kernels::Problem& problem,
                           std::span<const std::byte> input, std::int64_t most_values) {
    const std::int64_t inputs = problem.layer.columns > 0 ? problem.layer.columns : problem.inputs;
    return bytes_of(experts_bounds(weight, problem, input, most_outputs(most_values, inputs)));
  };
  operation.mirrored = mirrored;
  operation.probes = experts_probes;
  operation.inputs_seen = {};
  operation.catalog = [](record::DeviceKind kind) -> const kernels::Catalog& {
    return kind == record::DeviceKind::kCuda ? kernels::cuda::experts() : kernels::cpu::experts();
  };
  return operation;
}

}  // namespace

std::vector<kernels::ProductBound> experts_bounds(const nf4::Nf4Tensor& weight,
                                                  const kernels::Problem& problem,
                                                  std::span<const std::byte> input,
                                                  std::int64_t most_outputs) {
  if (problem.layer.columns == 0) {
    return bounds_of({problem.output_type, problem.inputs},
                     product_truth(weight, problem, input, most_outputs));
  }
  return bounds_of({problem.output_type, problem.layer.columns},
                   layer_truth(weight, problem, input, most_outputs));
}

const Operation& experts() {
  static const Operation operation = make_experts();
  return operation;
}

Operation with_ids(Operation operation, std::vector<std::int64_t> ids) {
  const auto shared = std::make_shared<const std::vector<std::int64_t>>(std::move(ids));
  operation.make_routing = [shared](const kernels::Problem& problem,
                                    const record::RunOptions& options, Turn turn) {
    const auto slots = static_cast<std::size_t>(slots_of(problem));
    const std::size_t first = turn == Turn::kOwn ? 0 : slots;
    std::vector<std::int64_t> own(slots);
    for (std::size_t i = 0; i < slots; ++i) own[i] = (*shared)[(first + i) % shared->size()];
    return routing_bytes(problem, own, seed_of(options, turn));
  };
  return operation;
}

}  // namespace nf4bench::operation
