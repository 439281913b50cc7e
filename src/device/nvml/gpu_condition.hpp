#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace nf4bench::device {

// A mode of a GPU that not every GPU has.
enum class GpuSetting : std::uint8_t { kUnknown, kUnsupported, kOff, kOn };

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

}  // namespace nf4bench::device
