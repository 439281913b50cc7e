#include "plan/problems.hpp"

#include "operation/weight.hpp"

namespace nf4bench::plan {

std::vector<kernels::Problem> problems_of(const operation::Operation& operation,
                                          const TensorSource& source,
                                          const record::Settings& settings) {
  const operation::WeightSize size = {.shape = source.geometry.shape,
                                      .blocksize = source.geometry.blocksize,
                                      .absmax_kind = source.geometry.absmax_kind};
  std::vector<nf4::OutputType> types = settings.output_types;
  if (types.empty()) types = {source.dtype};
  std::vector<kernels::Problem> problems;
  for (const nf4::OutputType type : types) {
    const auto posed = operation.problems(operation::problem_of(size, type), settings);
    problems.insert(problems.end(), posed.begin(), posed.end());
  }
  return problems;
}

}  // namespace nf4bench::plan
