#include "doctor/gpu_state.hpp"

#include "statistics/statistics.hpp"

#include <algorithm>

namespace nf4bench::doctor {
namespace {

void add_new(std::optional<std::vector<std::string>>& known,
             const std::optional<std::vector<std::string>>& more) {
  if (!more) return;
  if (!known) known.emplace();
  for (const std::string& reason : *more) {
    if (std::ranges::find(*known, reason) == known->end()) known->push_back(reason);
  }
}

}  // namespace

std::optional<double> median_of(const std::vector<device::GpuReading>& readings,
                                std::optional<double> device::GpuReading::*field) {
  std::vector<double> values;
  for (const device::GpuReading& each : readings) {
    if (each.*field) values.push_back(*(each.*field));
  }
  if (values.empty()) return std::nullopt;
  return statistics::median(values);
}

GpuState gpu_state(const GpuConditions& gpu) {
  GpuState state;
  state.sm_clock_hz = median_of(gpu.at_work, &device::GpuReading::sm_clock_hz);
  state.memory_clock_hz = median_of(gpu.at_work, &device::GpuReading::memory_clock_hz);
  for (const device::GpuReading& each : gpu.at_work) {
    state.temperature_c = std::max(state.temperature_c, each.temperature_c);
    state.pcie_generation = std::max(state.pcie_generation, each.pcie_generation);
    add_new(state.throttle_reasons, each.throttle_reasons);
  }
  state.max_sm_clock_hz = gpu.before.max_sm_clock_hz;
  state.ecc = gpu.before.ecc;
  state.uncorrected_errors = gpu.before.uncorrected_errors;
  state.remapped_rows = gpu.before.remapped_rows;
  state.pcie = gpu.before.pcie;
  state.nvlinks = gpu.before.nvlinks;
  state.mig = gpu.before.mig;
  return state;
}

}  // namespace nf4bench::doctor
