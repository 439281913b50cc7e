#pragma once

// A tensor on a CUDA device: its buffer sets, verification against the reference, timed samples.

#include "cuda/device_tools.hpp"
#include "device/cuda/cuda_resources.hpp"
#include "device/device.hpp"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace nf4bench::device {

// What the workloads of one device share. Outlives them.
struct CudaContext {
  record::DeviceInfo info;
  std::string config;  // Launch::config; empty for none
  CudaStream stream;
  CudaEvent start;
  CudaEvent stop;
  PinnedBuffer stamps;  // two kernels::cuda::ClockStamp a multiprocessor
  CudaBuffer comparison{sizeof(kernels::cuda::DeviceComparison)};

  explicit CudaContext(int multiprocessors)
      : stamps(sizeof(kernels::cuda::ClockStamp) * 2 * static_cast<std::size_t>(multiprocessors)) {}

  kernels::Launch launch() const {
    return {stream.get(), facts_of(info), config.empty() ? nullptr : config.c_str()};
  }
};

std::unique_ptr<Workload> make_cuda_workload(CudaContext& context, const nf4::Nf4Tensor& tensor,
                                             nf4::OutputType type, UploadPurpose purpose);

}  // namespace nf4bench::device
