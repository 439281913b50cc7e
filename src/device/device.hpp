#pragma once

#include "nf4/tensor.hpp"
#include "operation/exact_bits.hpp"
#include "record/cell.hpp"
#include "record/device_info.hpp"
#include "variant.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace nf4bench::device {

// Outputs are filled with this byte before a variant runs. No weight has such a value, and it is no
// NaN, so that an element left unwritten never passes for a decoded one.
inline constexpr unsigned char kPoisonByte = 0xeb;

// What of `info` a variant may decide on.
inline kernels::DeviceFacts facts_of(const record::DeviceInfo& info) {
  return {.compute_capability = info.compute_capability,
          .multiprocessors = info.multiprocessors,
          .l2_bytes = info.l2_bytes};
}

// How a sample is to be taken. The same spec gives the same launches every time.
struct SampleSpec {
  record::CacheMode cache = record::CacheMode::kCold;
  record::LaunchMode launch = record::LaunchMode::kGraph;
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

  // Why `variant` cannot run here; empty when it can.
  virtual std::string unsupported(const kernels::Variant& variant) const = 0;

  // Buffer sets that a cold sample rotates through; 1 when the workload was uploaded for one run.
  virtual int buffer_sets() const = 0;

  // Bytes that a call reads and writes at least, from the format.
  virtual std::int64_t bytes_read() const = 0;
  virtual std::int64_t bytes_written() const = 0;

  // Poisons every output buffer, runs `variant` once and compares all of its output with
  // `expected` (the reference's bytes, or a prefix of them that ends on an element).
  virtual record::Verification verify(const kernels::Variant& variant,
                                      std::span<const std::byte> expected) = 0;

  // Poisons the output, runs `variant` once and returns what it wrote.
  virtual std::vector<std::byte> output_of(const kernels::Variant& variant) = 0;

  // Takes one timed sample. The first call with a spec prepares it (graph capture, warm-up).
  virtual Sample sample(const kernels::Variant& variant, const SampleSpec& spec) = 0;
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

  virtual const record::DeviceInfo& info() const = 0;
  virtual record::DeviceState state() = 0;

  // The variants that this device offers, simplest first.
  virtual const std::vector<kernels::Variant>& variants() const = 0;

  // Kernels that move a geometry's bytes without decoding; may be empty.
  virtual const std::vector<kernels::Variant>& stream_shapes() const = 0;

  // Launch modes that exist here; the first is the default.
  virtual std::span<const record::LaunchMode> launch_modes() const = 0;

  // Copies `tensor` to the device. Throws Error(kDevice) saying how much memory is needed and how
  // much there is when it does not fit.
  virtual std::unique_ptr<Workload> upload(const nf4::Nf4Tensor& tensor, nf4::OutputType type,
                                           UploadPurpose purpose) = 0;

  // Measures the ceilings; about a second.
  virtual record::Ceilings measure_ceilings() = 0;
};

}  // namespace nf4bench::device
