#pragma once

#include "doctor/facts.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace nf4bench::doctor {

// What a GPU was like while it was measured, in one line. What cannot be read is absent.
struct GpuState {
  std::optional<double> temperature_c;  // the highest
  std::optional<double> sm_clock_hz;    // the median
  std::optional<double> max_sm_clock_hz;
  std::optional<double> memory_clock_hz;
  std::optional<std::vector<std::string>> throttle_reasons;  // each that was seen, once
  device::GpuSetting ecc = device::GpuSetting::kUnknown;
  std::optional<std::uint64_t> uncorrected_errors;
  std::optional<std::int64_t> remapped_rows;
  std::optional<int> pcie_generation;  // the highest
  device::PcieLink pcie;
  std::optional<device::NvLinks> nvlinks;
  device::GpuSetting mig = device::GpuSetting::kUnknown;
};

// Of the readings that know it; empty where none does.
std::optional<double> median_of(const std::vector<device::GpuReading>& readings,
                                std::optional<double> device::GpuReading::*field);

GpuState gpu_state(const GpuConditions& gpu);

}  // namespace nf4bench::doctor
