#pragma once

#include "device/device.hpp"
#include "device/work.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

namespace nf4bench::device {

// Calls of one variant on the sets of a workload, as something to be timed.
struct Calls {
  std::string name;      // of the variant
  std::size_t sets = 1;  // of buffers; a cold sample rotates through them

  // Makes `count` calls, the first on set `first_set`, and the others on the sets behind it when
  // cold, on the same one when hot.
  std::function<void(std::size_t first_set, int count, record::CacheMode cache)> make;
};

// Runs and times the calls of one workload on a kind of device. Errors of the device are thrown as
// Error(kDevice).
class Executor {
 public:
  virtual ~Executor() = default;

  // Makes calls and returns once their work is done. `what` is what they do: "launch the kernel".
  virtual void run(const char* what, const std::function<void()>& calls) = 0;

  // Takes one timed sample. The first with a spec prepares it (graph capture, warm-up).
  virtual Sample sample(const Calls& calls, const SampleSpec& spec) = 0;

  // To be called when buffers have moved: what was prepared holds their old addresses.
  virtual void forget_addresses() = 0;

  // Judges what lies at `actual`, in the device's memory, all of it finished.
  virtual record::Verification judge(const Work& work, std::span<const std::byte> expected,
                                     const std::byte* actual) = 0;
};

}  // namespace nf4bench::device
