#pragma once

#include "device/nvml/gpu_condition.hpp"

#include <cstdint>
#include <vector>

namespace nf4bench::doctor {

// A GPU as the driver shows it around a measurement.
struct GpuConditions {
  device::GpuCondition before;              // this program is idle
  device::GpuCondition after;               // the measurement
  std::vector<device::GpuReading> at_rest;  // while this program did nothing
  std::vector<device::GpuReading> at_work;  // between the samples of the measurement
  double worked_s = 0.0;                    // between `before` and `after`
  std::uint32_t own_pid = 0;
};

}  // namespace nf4bench::doctor
