#pragma once

#include "device/device.hpp"
#include "plan/plan.hpp"
#include "record/settings.hpp"

#include <cstdint>
#include <vector>

namespace nf4bench::plan {

// Bytes that verifying and timing one tensor takes at least, with one buffer set and no workspace.
struct MemoryNeed {
  std::int64_t host_bytes = 0;    // the tensor and the reference's output; CPU device: its buffers
  std::int64_t device_bytes = 0;  // 0 on the CPU
};

// Bytes of the packed weight and of all that its scales are made of.
std::int64_t input_bytes(const TensorSource& source);

// `verify` decides how much of the reference's output is needed.
MemoryNeed memory_need(const TensorSource& source, nf4::OutputType type, record::DeviceKind kind,
                       record::VerifyScope verify);

// Throws when a tensor of the run can never fit, whatever else is in memory: Error(kDevice) where
// it is the device's that is too small, Error(kInput) for the `host_bytes` of the host.
void check_memory(const std::vector<PlannedTensor>& tensors, const record::Settings& options,
                  const record::DeviceInfo& device, std::int64_t host_bytes);

}  // namespace nf4bench::plan
