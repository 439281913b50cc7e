#pragma once

#include "device/device.hpp"
#include "device/nvml/gpu_condition.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace nf4bench::device {

// The driver's management library, loaded at run time so that the program starts without it.
class Nvml {
 public:
  // Loads the library and finds the GPU with this PCI bus id ("0000:3b:00.0"). Never throws: when
  // something is missing, problem() says what.
  explicit Nvml(const std::string& pci_id);
  ~Nvml();
  Nvml(Nvml&&) noexcept;
  Nvml& operator=(Nvml&&) noexcept;

  const std::string& problem() const;
  record::DeviceState state() const;
  std::string driver_version() const;  // empty when unknown
  std::optional<bool> ecc() const;
  std::optional<bool> mig() const;
  std::optional<double> energy_j() const;  // since the driver was loaded

  // In nvml_condition.cpp.
  DriverFacts driver() const;  // also without a GPU at the PCI id
  GpuReading reading() const;
  std::optional<std::vector<GpuProcess>> processes() const;  // that compute or draw, each once
  GpuCondition condition() const;

 private:
  struct Library;
  std::unique_ptr<Library> library_;
};

}  // namespace nf4bench::device
