#pragma once

// A tensor on the CPU device: its buffer sets, verification against the reference, timed samples.

#include <memory>
#include <string>

#include "device/device.hpp"

namespace nf4bench {

// What the workloads of one CPU device have in common; each keeps its copy.
struct CpuContext {
  DeviceInfo info;
  std::string config;  // Launch::config; empty for none
  int threads = 1;     // OpenMP threads that variants run with
};

std::unique_ptr<Workload> make_cpu_workload(const CpuContext& context, const Nf4Tensor& tensor,
                                            OutputType type, UploadPurpose purpose);

}  // namespace nf4bench
