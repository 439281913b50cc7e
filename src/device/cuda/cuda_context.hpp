#pragma once

// What all work on one CUDA device shares. Host compiler only.

#include "cuda/device_tools.hpp"
#include "device/cuda/cuda_resources.hpp"
#include "record/device_info.hpp"

#include <string>
#include <utility>

namespace nf4bench::device {

struct CudaContext {
  record::DeviceInfo info;
  std::string config;      // Launch::config; empty for none
  int caches_rotated = 1;  // cold samples: the sets of a rotation, in last-level caches
  CudaStream stream;
  CudaEvent start;
  CudaEvent stop;
  PinnedBuffer stamps;  // two cuda::ClockStamp a multiprocessor
  CudaBuffer spacer_output;
  CudaBuffer foreign;  // twice as much as L2 holds, of no use but to lie there
  std::size_t l2_set_aside = device::l2_set_aside();  // as it was when the device was opened

  explicit CudaContext(record::DeviceInfo device)
      : info(std::move(device)),
        stamps(sizeof(kernels::cuda::ClockStamp) * 2 *
               static_cast<std::size_t>(info.multiprocessors)),
        spacer_output(kernels::cuda::spacer_output_bytes(info.multiprocessors)),
        foreign(2 * info.l2_bytes) {}
};

}  // namespace nf4bench::device
