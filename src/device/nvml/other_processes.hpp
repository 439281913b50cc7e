#pragma once

#include "device/nvml/gpu_condition.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace nf4bench::device {

// The processes on a GPU that are not this one.
struct OtherProcesses {
  std::vector<GpuProcess> listed;
  int count = 0;             // one less than listed where this process goes by another pid
  bool sees_itself = false;  // false: pids are counted outside of this container
};

// Of the driver's list, for a process that has the GPU open. Absent where there is no list, or an
// empty one, which lacks even the process that asks.
std::optional<OtherProcesses> others_of(const std::optional<std::vector<GpuProcess>>& processes,
                                        std::uint32_t own_pid);

}  // namespace nf4bench::device
