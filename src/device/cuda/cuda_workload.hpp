#pragma once

// A tensor on a CUDA device: its buffer sets, verification against the reference, timed samples.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cuda/device_tools.hpp"
#include "device/cuda/cuda_resources.hpp"
#include "device/device.hpp"

namespace nf4bench {

// What the workloads of one device share. Outlives them.
struct CudaContext {
  DeviceInfo info;
  std::string config;  // Launch::config; empty for none
  CudaStream stream;
  CudaEvent start;
  CudaEvent stop;
  PinnedBuffer stamps;  // two cuda::ClockStamp a multiprocessor
  CudaBuffer comparison{sizeof(cuda::DeviceComparison)};

  explicit CudaContext(int multiprocessors)
      : stamps(sizeof(cuda::ClockStamp) * 2 * static_cast<std::size_t>(multiprocessors)) {}

  Launch launch() const {
    return {stream.get(), facts_of(info), config.empty() ? nullptr : config.c_str()};
  }
};

std::unique_ptr<Workload> make_cuda_workload(CudaContext& context, const Nf4Tensor& tensor,
                                             OutputType type, UploadPurpose purpose);

}  // namespace nf4bench
