#pragma once

#include "operation/operation.hpp"
#include "plan/plan.hpp"
#include "record/run_options.hpp"

#include <cstdint>
#include <vector>

namespace nf4bench::plan {

// The problems of a run that `source` poses: in each output type of `options`, or in its own.
std::vector<kernels::Problem> problems_of(const operation::Operation& operation,
                                          const TensorSource& source,
                                          const record::RunOptions& options);

// Throws Error(kUsage) when a tensor is to be of a type that the operation does not have.
void check_types(const operation::Operation& operation, const std::vector<PlannedTensor>& tensors,
                 const record::RunOptions& options);

// Bytes that verifying one tensor takes at least, with one buffer set and no workspace.
struct MemoryNeed {
  std::int64_t host_bytes = 0;    // the tensor and the reference's output; CPU device: its buffers
  std::int64_t device_bytes = 0;  // 0 on the CPU
};

// What a tensor is there for, and where.
struct MemoryUse {
  record::DeviceKind kind = record::DeviceKind::kCpu;
  record::VerifyScope verify = record::VerifyScope::kAll;  // how much of a reference is needed
  bool is_timed = true;  // then the output of the operation's sibling is judged as well
};

MemoryNeed memory_need(const operation::Operation& operation, const kernels::Problem& problem,
                       const MemoryUse& use);

// What a run may have.
struct MemoryThere {
  const record::DeviceInfo& device;
  std::int64_t host_bytes = 0;  // 0: not known
};

// Throws when a tensor of the run can never fit, whatever else is in memory: Error(kDevice) where
// it is the device's that is too small, Error(kInput) for the host's.
void check_memory(const operation::Operation& operation, const std::vector<PlannedTensor>& tensors,
                  const record::RunOptions& options, const MemoryThere& there);

}  // namespace nf4bench::plan
