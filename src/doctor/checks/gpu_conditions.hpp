#pragma once

#include <cstdint>
#include <vector>

#include "device/nvml/gpu_condition.hpp"

namespace nf4bench {

// A GPU as the driver shows it around a measurement.
struct GpuConditions {
  GpuCondition before;              // idle, as far as this program goes
  GpuCondition after;               // the measurement
  std::vector<GpuReading> at_rest;  // while this program did nothing
  std::vector<GpuReading> at_work;  // between the samples of the measurement
  double worked_s = 0.0;            // between `before` and `after`
  std::uint32_t own_pid = 0;
};

}  // namespace nf4bench
