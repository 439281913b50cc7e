#pragma once

#include "base/words.hpp"
#include "nf4/format.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace nf4bench::record {

enum class DeviceKind : std::uint8_t { kCpu, kCuda };

constexpr auto words(DeviceKind /*any*/) {
  using enum DeviceKind;
  return std::to_array<Word<DeviceKind>>({{kCpu, "cpu"}, {kCuda, "cuda"}});
}

// What is fixed about a device while the process lives.
struct DeviceInfo {
  DeviceKind kind = DeviceKind::kCpu;
  std::string id;              // "cpu" or "cuda:0"
  std::string name;            // "NVIDIA H200", or the CPU's model name
  int compute_capability = 0;  // CUDA: 10 * major + minor: 75, 80, 90, ...; 0 on the CPU
  int card_capability = 0;     // where that is of an older card that this one stands in for
  int multiprocessors = 0;     // CUDA: SMs; CPU: hardware threads
  std::int64_t l2_bytes = 0;   // last-level cache
  std::int64_t memory_bytes = 0;
  std::optional<double> peak_bytes_per_s;  // of the memory, from its clock and width; absent where
                                           // that is unknown (CPU, MIG)
  std::string uuid;                        // CUDA only
  std::string pci_id;                      // CUDA only
  std::string driver;                      // driver version, e.g. "580.159.04"; CUDA only
  std::string runtime;                     // CUDA runtime this binary was built with, e.g. "13.0"
  std::optional<bool> ecc;
  std::optional<bool> mig;
  std::string simd;  // CPU only: the SIMD target chosen at run time
};

// What moves while the process lives; read before and after the measurements.
struct DeviceState {
  std::optional<double> sm_clock_hz;
  std::optional<double> memory_clock_hz;
  std::optional<double> max_sm_clock_hz;
  std::optional<double> power_w;
  std::optional<double> power_limit_w;
  std::optional<double> temperature_c;
  std::optional<bool> persistence;
  std::vector<std::string> throttle_reasons;  // empty: none, or not known
  std::optional<int> other_processes;         // on this GPU, besides this one; absent: not known
  std::string unavailable;  // why nothing could be read (no NVML), empty otherwise
};

// What the device does at best, measured in this run. Bytes read plus bytes written.
struct Ceilings {
  std::int64_t copy_bytes = 0;    // bytes moved by one copy
  double copy_bytes_per_s = 0.0;  // device-to-device copy (CPU: parallel memcpy)
  std::int64_t write_bytes = 0;
  double write_bytes_per_s = 0.0;           // write only
  std::optional<double> event_overhead_s;   // between two events with nothing between
  std::optional<double> launch_overhead_s;  // of an empty kernel in a graph
  // Multiplications and additions of a matrix product, by the type of what is multiplied. Types
  // that were not measured are missing.
  std::map<nf4::OutputType, double> flops_per_s{};
};

}  // namespace nf4bench::record
