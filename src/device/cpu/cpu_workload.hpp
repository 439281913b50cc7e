#pragma once

// A tensor on the CPU device: its buffer sets, verification against the reference, timed samples.

#include "device/device.hpp"

#include <memory>
#include <string>

namespace nf4bench::device {

// What the workloads of one CPU device have in common; each keeps its copy.
struct CpuContext {
  record::DeviceInfo info;
  std::string config;  // Launch::config; empty for none
  int threads = 1;     // OpenMP threads that variants run with
};

std::unique_ptr<Workload> make_cpu_workload(const CpuContext& context, const nf4::Nf4Tensor& tensor,
                                            nf4::OutputType type, UploadPurpose purpose);

}  // namespace nf4bench::device
