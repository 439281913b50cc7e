#pragma once

#include "device/device.hpp"
#include "device/shared_buffers.hpp"
#include "peer/cuda_tools.hpp"
#include "peer/process/peer_process.hpp"

#include <optional>
#include <string>

namespace nf4bench::peer {

// What peers are wanted for, and where they are to run.
struct PeerHost {
  record::DeviceKind kind = record::DeviceKind::kCpu;
  std::string operation = "dequantize";  // as operation::Operation names it
  int compute_capability = 0;            // 0: not known, so nothing is refused
  std::optional<CudaTools> tools{};      // cuda_tools()

  // Where peers run in processes of their own: the buffers of their calls. Null: in this one.
  device::SharedBuffers* shared = nullptr;
  std::string why_not_shared{};  // Device::why_not_shared()
  int threads = 0;               // that those processes are to use; 0: all
  ProcessLimits limits{};
};

}  // namespace nf4bench::peer
