#pragma once

#include "device/counter_access.hpp"
#include "device/device.hpp"
#include "device/nvml/nvml.hpp"
#include "doctor/aa_run.hpp"
#include "doctor/checks/cpu_conditions.hpp"

#include <cstdint>
#include <optional>
#include <string>
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

// Everything that the checks look at. Plain data, so that tests can write it by hand.
struct DoctorFacts {
  record::DeviceInfo device;
  AaRun aa;
  std::string architectures;         // this program's, as CMake has them; empty without CUDA
  std::string kernel;                // of Linux: "6.1.0-29-amd64"
  std::string cuda_problem;          // why there is no GPU and the CPU was taken; else empty
  device::DriverFacts driver;        // NVIDIA's, if there is one
  device::CounterAccess counters;    // of a GPU
  std::optional<GpuConditions> gpu;  // of a CUDA device
  std::optional<CpuConditions> cpu;  // of the CPU device
};

}  // namespace nf4bench::doctor
