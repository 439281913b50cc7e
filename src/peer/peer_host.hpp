#pragma once

#include "device/device.hpp"
#include "peer/cuda_tools.hpp"

#include <optional>
#include <string>

namespace nf4bench::peer {

// What peers are wanted for, and where they are to run.
struct PeerHost {
  record::DeviceKind kind = record::DeviceKind::kCpu;
  std::string operation = "dequantize";  // as operation::Operation names it
  int compute_capability = 0;            // 0: not known, so nothing is refused
  std::optional<CudaTools> tools{};      // cuda_tools()
};

}  // namespace nf4bench::peer
