#pragma once

#include "base/words.hpp"
#include "record/device_info.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace nf4bench::device {

// A mode of a GPU that not every GPU has.
enum class GpuSetting : std::uint8_t { kUnknown, kUnsupported, kOff, kOn };

// "none" for a GPU that has no such mode; empty when it is not known.
constexpr auto words(GpuSetting /*any*/) {
  using enum GpuSetting;
  return std::to_array<Word<GpuSetting>>(
      {{kUnknown, ""}, {kUnsupported, "none"}, {kOff, "off"}, {kOn, "on"}});
}

// A process that has memory on a GPU.
struct GpuProcess {
  std::uint32_t pid = 0;  // as the driver counts them: outside of any container
  std::string name;       // empty when unknown
  std::optional<std::int64_t> memory_bytes;
};

// What the driver says of itself, whether this program can use a GPU or not.
struct DriverFacts {
  std::string version;               // "580.159.04"; empty when unknown
  std::optional<int> cuda_version;   // newest CUDA that it serves: 13000 for 13.0
  std::optional<std::int64_t> gpus;  // that it sees
};

// The link to the host, in lanes and generations of PCI Express.
struct PcieLink {
  std::optional<int> width;
  std::optional<int> card_width;       // what the card can do
  std::optional<int> card_generation;  // the same
  std::optional<int> most_generation;  // what card and slot can do
};

// The links to other GPUs.
struct NvLinks {
  int present = 0;  // 0: this GPU has none
  int active = 0;
};

// What may change within milliseconds.
struct GpuReading {
  std::optional<double> sm_clock_hz;
  std::optional<double> memory_clock_hz;
  std::optional<double> temperature_c{};
  std::optional<int> pcie_generation{};  // at rest it goes down to save power
  std::optional<double> busy;  // share of the driver's last sample period with a kernel running
  std::optional<std::vector<std::string>> throttle_reasons;  // absent: not known
};

// What was set up or has happened to a GPU. Whatever cannot be read is absent.
struct GpuCondition {
  std::string problem;  // why nothing could be read; empty otherwise
  std::optional<double> max_sm_clock_hz;
  std::optional<double> power_limit_w;
  std::optional<double> default_power_limit_w;
  std::optional<bool> persistence;
  GpuSetting ecc = GpuSetting::kUnknown;
  GpuSetting ecc_after_reset = GpuSetting::kUnknown;
  std::optional<std::uint64_t> uncorrected_errors;  // since the driver was loaded
  std::optional<bool> remapping_pending;            // of broken memory rows, at the next reset
  std::optional<bool> remapping_failed;
  std::optional<std::int64_t> remapped_rows{};  // ever
  GpuSetting mig = GpuSetting::kUnknown;
  PcieLink pcie{};
  std::optional<NvLinks> nvlinks{};
  std::optional<std::vector<GpuProcess>> processes;
  std::optional<double> slowed_by_power_s;  // since the driver was loaded
  std::optional<double> slowed_by_heat_s;
};

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
