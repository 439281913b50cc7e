#include "plan/problems.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "operation/weight.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>

namespace nf4bench::plan {

namespace {

std::vector<nf4::OutputType> types_of(const TensorSource& source,
                                      const record::RunOptions& options) {
  return options.output_types.empty() ? std::vector{source.dtype} : options.output_types;
}

}  // namespace

std::vector<kernels::Problem> problems_of(const operation::Operation& operation,
                                          const TensorSource& source,
                                          const record::RunOptions& options) {
  const operation::WeightSize size = {.shape = source.geometry.shape,
                                      .blocksize = source.geometry.blocksize,
                                      .absmax_kind = source.geometry.absmax_kind,
                                      .stack = source.geometry.stack};
  std::vector<kernels::Problem> problems;
  for (const nf4::OutputType type : types_of(source, options)) {
    const auto posed = operation.problems(operation::problem_of(size, type), options);
    problems.insert(problems.end(), posed.begin(), posed.end());
  }
  return problems;
}

void check_types(const operation::Operation& operation, const std::vector<PlannedTensor>& tensors,
                 const record::RunOptions& options) {
  const std::vector<nf4::OutputType>& has = operation.output_types;
  if (has.empty()) return;
  for (const PlannedTensor& planned : tensors) {
    for (const nf4::OutputType type : types_of(planned.source, options)) {
      if (std::ranges::find(has, type) != has.end()) continue;
      std::vector<std::string> names;
      names.reserve(has.size());
      for (const nf4::OutputType each : has) names.emplace_back(to_string(each));
      throw Error(ErrorKind::kUsage,
                  fmt::format("{} is not made for {}, as tensor \"{}\" would be; choose among {} "
                              "with --dtype",
                              operation.name, to_string(type), escaped(planned.source.name),
                              fmt::join(names, ", ")));
    }
  }
}

}  // namespace nf4bench::plan
