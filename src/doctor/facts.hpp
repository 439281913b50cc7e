#pragma once

#include "device/device.hpp"
#include "device/nvml/gpu_condition.hpp"
#include "doctor/aa_run.hpp"
#include "doctor/checks/cpu_conditions.hpp"
#include "doctor/checks/gpu_conditions.hpp"

#include <optional>
#include <string>

namespace nf4bench::doctor {

// Everything that the checks look at. Plain data, so that tests can write it by hand.
struct DoctorFacts {
  record::DeviceInfo device;
  AaRun aa;
  std::string architectures;         // this program's, as CMake has them; empty without CUDA
  std::string cuda_problem;          // why there is no GPU and the CPU was taken; else empty
  device::DriverFacts driver;        // NVIDIA's, if there is one
  std::optional<GpuConditions> gpu;  // of a CUDA device
  std::optional<CpuConditions> cpu;  // of the CPU device
};

}  // namespace nf4bench::doctor
