#include "operation/backward.hpp"

#include "operation/matmul.hpp"

#include <utility>

namespace nf4bench::operation {
namespace {

std::vector<kernels::Problem> problems_of(const kernels::Problem& weight,
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
  operation.problems = problems_of;
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
