#pragma once

#include "device/work.hpp"
#include "record/cell.hpp"
#include "record/device_info.hpp"
#include "record/verification.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace nf4bench::device {

class SharedBuffers;

// What of `info` a variant may decide on.
inline kernels::DeviceFacts facts_of(const record::DeviceInfo& info) {
  return {.compute_capability = info.compute_capability,
          .multiprocessors = info.multiprocessors,
          .l2_bytes = info.l2_bytes,
          .memory_bytes_per_s = info.peak_bytes_per_s.value_or(0.0),
          .card_capability = info.card_capability};
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

// The right outputs of a work and of its sibling: all of each, or prefixes of one length that end
// on a value.
struct Expected {
  std::span<const std::byte> own;
  std::span<const std::byte> sibling{};  // empty: the work has none

  std::span<const std::byte> of(Content content) const {
    return content == Content::kOwn ? own : sibling;
  }
};

// Part of a change of what buffers hold: bytes of an input, from byte `at` on.
struct ChangedInput {
  std::size_t input = 0;  // as in Work::inputs
  std::int64_t at = 0;
  std::vector<std::byte> own;
  std::vector<std::byte> sibling;
};

// The values from `first` on, and what they were held to before a change; empty where they did not.
struct ChangedOutputs {
  std::int64_t first = 0;
  std::vector<std::byte> own_before;
  std::vector<std::byte> sibling_before;

  const std::vector<std::byte>& before(Content content) const {
    return content == Content::kOwn ? own_before : sibling_before;
  }
};

// A change of what the buffers of a workload hold, all sets alike, and of what outputs are held to.
struct ContentChange {
  std::vector<ChangedInput> inputs;
  std::vector<ChangedOutputs> outputs;  // in the order in which they changed
  Expected expected;                    // brought up to date
};

using record::FaultKind;

struct OutputFault {
  FaultKind kind = FaultKind::kWrong;
  int set = 1;  // whose output it is, from 1
  int sets = 1;
  std::int64_t elements = 0;     // that are so
  record::Verification found{};  // when the sample ended
};

// A sample whose outputs were judged; the first fault, if there is one.
struct JudgedSample {
  Sample sample;
  std::optional<OutputFault> fault{};
};

// One problem on a device: inputs, outputs, and what verification needs.
// Not thread-safe. Errors of the device are thrown as Error(kDevice).
class Workload {
 public:
  virtual ~Workload() = default;

  // Why `variant` cannot run here; empty when it can.
  virtual std::string unsupported(const kernels::Variant& variant) const = 0;

  // Buffer sets that a cold sample rotates through; 1 when the workload was uploaded for one run.
  virtual int buffer_sets() const = 0;

  // Copies `content` over an input of the first set, which is as large: what verify() reads.
  virtual void replace_input(std::size_t index, std::span<const std::byte> content) = 0;

  // Changes inputs in all sets, in place: addresses and what was recorded stay. What variants
  // prepare is prepared anew before their next call. Leaves nothing in a cache that is to be cold.
  virtual void change(ContentChange change) = 0;

  // Lets go of what outputs were held to, which may change or go away from now on.
  virtual void forget_references() = 0;

  // Poisons the output, runs `variant` once and judges its output by `expected` (the reference's
  // bytes, or a prefix of them that ends on a value). What outputs are held to, here and below, is
  // copied to the device once: it stays where it is until forget_references(), and as it is but
  // for what change() says.
  virtual record::Verification verify(const kernels::Variant& variant,
                                      std::span<const std::byte> expected) = 0;

  // What the output holds since the last verify().
  virtual std::vector<std::byte> verified_output() = 0;

  // Poisons the output, runs `variant` once and returns what it wrote.
  virtual std::vector<std::byte> output_of(const kernels::Variant& variant) = 0;

  // Takes one timed sample. The first call with a spec prepares it (graph capture, warm-up).
  // Afterwards poison is strewn over what it wrote, so that nothing is right there already when the
  // next call writes it.
  virtual Sample sample(const kernels::Variant& variant, const SampleSpec& spec) = 0;

  // The same, and judges what the sample left in every output that it wrote, before anything that
  // is still under way elsewhere can catch up. The variant cannot tell it from sample().
  virtual JudgedSample judged_sample(const kernels::Variant& variant, const SampleSpec& spec,
                                     const Expected& expected) = 0;

  // Makes the calls of a sample `times` times, back to back, and waits for their end: for what is
  // counted by others, such as energy. Nothing is timed or judged.
  virtual void repeat(const kernels::Variant& variant, const SampleSpec& spec, int times) = 0;

  // Calls `variant` once, plainly, where a profiler that waits for it sees what it launches and
  // nothing else: after it was called before. Nothing is timed or judged.
  virtual void profile(const kernels::Variant& variant) = 0;

  // Takes samples that are not worth timing and judges them: one whose outputs are full of poison,
  // and one on the same outputs when they are right but for poison that is strewn over them. Looks
  // at guard bytes and at an output that is not to be written, too. Throws Error(kDevice) when a
  // guard byte was written.
  virtual std::optional<OutputFault> check(const kernels::Variant& variant, const SampleSpec& spec,
                                           const Expected& expected) = 0;
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

  // Joules that the device has taken since some moment in the past, as its own counter shows them;
  // absent where it has none.
  virtual std::optional<double> energy_j() = 0;

  // Launch modes that exist here; the first is the default.
  virtual std::span<const record::LaunchMode> launch_modes() const = 0;

  // Copies what `work` reads to the device. Throws Error(kDevice) saying how much memory is needed
  // and how much there is when it does not fit.
  virtual std::unique_ptr<Workload> upload(const Work& work, UploadPurpose purpose) = 0;

  // How many of `wanted` more buffer sets of so many bytes upload() would make in the memory that
  // there is.
  virtual std::int64_t fitting_sets(std::int64_t wanted, std::int64_t /*set_bytes*/) {
    return wanted;
  }

  // The buffers as other processes can use them; null where there is no such way, or nobody has
  // asked for one. They live as long as the device.
  virtual SharedBuffers* shared_buffers() { return nullptr; }

  // Why there is no such way although somebody has asked for one; empty otherwise.
  virtual std::string why_not_shared() const { return ""; }

  // Measures the ceilings; about a second.
  virtual record::Ceilings measure_ceilings() = 0;
};

}  // namespace nf4bench::device
