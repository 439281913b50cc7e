#pragma once

#include "operation/operation.hpp"
#include "plan/plan.hpp"

#include <vector>

namespace nf4bench::plan {

// The problems of a run that `source` poses: in each output type of `options`, or in its own.
std::vector<kernels::Problem> problems_of(const operation::Operation& operation,
                                          const TensorSource& source,
                                          const record::RunOptions& options);

// Throws Error(kUsage) when a tensor is to be of a type that the operation does not have.
void check_types(const operation::Operation& operation, const std::vector<PlannedTensor>& tensors,
                 const record::RunOptions& options);

}  // namespace nf4bench::plan
