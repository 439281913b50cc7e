#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "nf4/comparison.hpp"
#include "nf4/tensor.hpp"
#include "variant.hpp"

namespace nf4bench {

enum class DeviceKind : std::uint8_t { kCpu, kCuda };

// Which data a sample finds in the last-level cache.
enum class CacheMode : std::uint8_t {
  kCold,  // buffer sets rotate, so that the cache holds nothing useful
  kHot,   // the same buffers again and again
};

// How launches are issued.
enum class LaunchMode : std::uint8_t {
  kGraph,   // replayed from a CUDA graph: GPU time
  kStream,  // plain launches (CUDA) or plain calls (CPU): what an eager caller pays
};

constexpr const char* to_string(CacheMode mode) {
  return mode == CacheMode::kCold ? "cold" : "hot";
}
constexpr const char* to_string(LaunchMode mode) {
  return mode == LaunchMode::kGraph ? "graph" : "stream";
}

// Outputs are filled with this byte before a variant runs. No weight has such a value, and it is no
// NaN, so that an element left unwritten never passes for a decoded one.
inline constexpr unsigned char kPoisonByte = 0xeb;

// What is fixed about a device while the process lives.
struct DeviceInfo {
  DeviceKind kind = DeviceKind::kCpu;
  std::string id;    // "cpu" or "cuda:0"
  std::string name;  // "NVIDIA H200", or the CPU's model name
  DeviceFacts facts;
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
  std::string unavailable;  // why nothing could be read (no NVML), empty otherwise
};

// What the device's memory does at best, measured in this run. Bytes read plus bytes written.
struct Ceilings {
  std::int64_t copy_bytes = 0;    // bytes moved by one copy
  double copy_bytes_per_s = 0.0;  // device-to-device copy (CPU: parallel memcpy)
  std::int64_t write_bytes = 0;
  double write_bytes_per_s = 0.0;           // write only
  std::optional<double> event_overhead_s;   // between two events with nothing between
  std::optional<double> launch_overhead_s;  // of an empty kernel in a graph
};

// How a sample is to be taken. The same spec gives the same launches every time.
struct SampleSpec {
  CacheMode cache = CacheMode::kCold;
  LaunchMode launch = LaunchMode::kGraph;
  int launches = 1;  // calls of the variant between the two events

  bool operator==(const SampleSpec&) const = default;
};

// One timed measurement.
struct Sample {
  double seconds = 0.0;               // per call of the variant
  std::optional<double> sm_clock_hz;  // mean SM clock while the sample ran
};

// One tensor on a device for one output type: inputs, outputs, and what verification needs.
// Not thread-safe. Errors of the device are thrown as Error(kDevice).
class Workload {
 public:
  virtual ~Workload() = default;

  // Why `variant` can not run here; empty when it can.
  virtual std::string unsupported(const Variant& variant) const = 0;

  // Buffer sets that a cold sample rotates through; 1 when the workload was uploaded for one run.
  virtual int buffer_sets() const = 0;

  // Bytes that a call reads and writes at least, from the format.
  virtual std::int64_t bytes_read() const = 0;
  virtual std::int64_t bytes_written() const = 0;

  // Poisons every output buffer, runs `variant` once and compares all of its output with
  // `expected` (the reference's bytes, or a prefix of them that ends on an element).
  virtual Comparison verify(const Variant& variant, std::span<const std::byte> expected) = 0;

  // Poisons the output, runs `variant` once and returns what it wrote.
  virtual std::vector<std::byte> output_of(const Variant& variant) = 0;

  // Takes one timed sample. The first call with a spec prepares it (graph capture, warm-up).
  virtual Sample sample(const Variant& variant, const SampleSpec& spec) = 0;
};

// What the buffers of a workload are for.
enum class UploadPurpose : std::uint8_t {
  kVerify,   // one buffer set
  kTime,     // as many sets as a cold sample needs
  kTimeHot,  // one set: no sample will be cold
};

// A device that runs variants and times them. It never computes statistics.
class Device {
 public:
  virtual ~Device() = default;

  virtual const DeviceInfo& info() const = 0;
  virtual DeviceState state() = 0;

  // The variants that this device offers, simplest first.
  virtual const std::vector<Variant>& variants() const = 0;

  // Kernels that move a geometry's bytes without decoding; may be empty.
  virtual const std::vector<Variant>& stream_shapes() const = 0;

  // Launch modes that exist here; the first is the default.
  virtual std::span<const LaunchMode> launch_modes() const = 0;

  // Copies `tensor` to the device. Throws Error(kDevice) saying how much memory is needed and how
  // much there is when it does not fit.
  virtual std::unique_ptr<Workload> upload(const Nf4Tensor& tensor, OutputType type,
                                           UploadPurpose purpose) = 0;

  // Measures the ceilings; about a second.
  virtual Ceilings measure_ceilings() = 0;
};

}  // namespace nf4bench
