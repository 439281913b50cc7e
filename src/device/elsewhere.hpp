#pragma once

// Calls in another process, on a device whose time only that process can read.

#include "device/device.hpp"
#include "device/work.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace nf4bench::device {

struct CallRange;

// Something that is copied right behind the last call of a sample, before anything that is late can
// be written.
struct OutputCopy {
  const std::byte* from = nullptr;
  std::byte* to = nullptr;
  std::int64_t bytes = 0;
};

// The calls of a variant on the buffers of a workload.
struct CallsElsewhere {
  std::uintptr_t workload = 0;  // what was made ready for another one is of no use
  kernels::Launch launch{};
  std::size_t sets = 1;
  ForeignLines foreign_lines = ForeignLines::kStored;
  std::function<std::vector<kernels::Job>()> jobs;  // of all calls that there are, see place_of()
};

// Takes samples of one variant there. Errors of the device and of that process are thrown as
// Error(kDevice).
class Sampler {
 public:
  virtual ~Sampler() = default;

  // Warms up and records what the samples of a spec need.
  virtual void prepare(const CallsElsewhere& calls, const SampleSpec& spec) = 0;

  // Takes a sample of a range that is prepared.
  virtual Sample take(const SampleSpec& spec, const CallRange& range,
                      const std::vector<OutputCopy>& copies) = 0;

  // Makes the calls of prepared ranges, back to back, and compares what that process says of their
  // time with this one's clock.
  virtual void repeat(const SampleSpec& spec, const std::vector<CallRange>& ranges) = 0;
};

// What Variant::launch_elsewhere holds where samples are taken there, too.
struct LaunchElsewhere {
  std::function<double(const std::vector<kernels::Job>& jobs, const kernels::Launch& launch)> call;
  Sampler* sampler = nullptr;

  double operator()(const std::vector<kernels::Job>& jobs, const kernels::Launch& launch) const {
    return call(jobs, launch);
  }
};

// Null when the samples of `variant` are taken here.
inline Sampler* sampler_of(const kernels::Variant& variant) {
  const auto* const elsewhere = variant.launch_elsewhere.target<LaunchElsewhere>();
  return elsewhere == nullptr ? nullptr : elsewhere->sampler;
}

}  // namespace nf4bench::device
