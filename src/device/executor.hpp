#pragma once

#include "device/device.hpp"
#include "device/work.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace nf4bench::device {

// What a call may have left to other threads gets so much time to be done.
inline constexpr std::chrono::milliseconds kPatience{4};

// An output that calls wrote, and what the last of them was to leave there.
struct Written {
  std::size_t set = 0;  // whose output it is
  std::byte* output = nullptr;
  Content content = Content::kOwn;
};

// Some calls of a variant: `count` of them, the first on set `first_set` and the others on the sets
// behind it when cold. When hot they are all on one set, which holds both contents in turn, and
// `first_set` counts these.
struct CallRange {
  std::size_t first_set = 0;
  int count = 1;
  record::CacheMode cache = record::CacheMode::kCold;
  int from = 0;  // those before this one are left to somebody else
};

// Something that is copied right behind the last call of a sample, before anything that is late can
// be written.
struct OutputCopy {
  const std::byte* from = nullptr;
  std::byte* to = nullptr;
  std::int64_t bytes = 0;
};

// The calls of a variant on the buffers of a workload, on a device whose time only another process
// can read.
struct CallsElsewhere {
  std::uintptr_t workload = 0;  // what was made ready for another one is of no use
  kernels::Launch launch{};
  std::size_t sets = 1;
  ForeignLines foreign_lines = ForeignLines::kStored;
  std::function<std::vector<kernels::Job>()> jobs;  // of all calls that there are, see place_of()
};

// Takes samples of one variant in that process. Errors of the device and of that process are thrown
// as Error(kDevice).
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

// Calls of one variant on the sets of a workload, as something to be timed.
struct Calls {
  std::string name;      // of the variant
  std::size_t sets = 1;  // of buffers; a cold sample rotates through them
  ForeignLines foreign_lines = ForeignLines::kStored;

  std::function<void(const CallRange& range)> make;

  // The same for calls in another process, with the seconds that they took there. Empty: they are
  // made in this one, where the executor can time them.
  std::function<double(const CallRange& range)> make_elsewhere{};

  // Null: samples are taken in this process. Else by this in another one, which makes `elsewhere`.
  Sampler* sampler = nullptr;
  std::optional<CallsElsewhere> elsewhere{};

  // The outputs that make() writes, each once.
  std::function<std::vector<Written>(const CallRange& range)> written;

  // Called when all is prepared, right before the calls of a sample, with what these will write.
  // Empty: nothing is to be done.
  std::function<void(const std::vector<Written>& outputs)> before{};

  bool again = false;  // a sample is on the sets of the last one, instead of on those behind them
};

// What outputs are judged by.
struct Truth {
  const Work& work;
  Expected expected;
};

// A sample, what it wrote and, if that was judged, what each of these outputs was like.
struct Taken {
  Sample sample;
  std::vector<Written> written;
  std::vector<record::Verification> found;
};

// Runs and times the calls of one workload on a kind of device. Errors of the device are thrown as
// Error(kDevice).
class Executor {
 public:
  virtual ~Executor() = default;

  // Makes calls and returns once their work is done. `what` is what they do: "launch the kernel".
  virtual void run(const char* what, const std::function<void()>& calls) = 0;

  // Takes one timed sample. The first with a spec prepares it (graph capture, warm-up). With a
  // `truth`, outputs are judged right behind the last call: what work elsewhere has not written by
  // then is missing.
  virtual Taken sample(const Calls& calls, const SampleSpec& spec, const Truth* truth) = 0;

  // Makes the calls of `times` samples, back to back, and returns once their work is done.
  virtual void repeat(const Calls& calls, const SampleSpec& spec, int times) = 0;

  // Makes the calls of one sample where a profiler that waits for them sees these and nothing else.
  virtual void profile(const Calls& calls, const SampleSpec& spec) { repeat(calls, spec, 1); }

  // To be called when buffers have moved: what was prepared holds their old addresses.
  virtual void forget_addresses() = 0;

  // As Workload::forget_references().
  virtual void forget_references() = 0;

  // To be called when part of what outputs are held to has changed.
  virtual void refresh_reference(std::span<const std::byte> changed) = 0;

  // Judges what lies at `actual`, in the device's memory, all of it finished.
  virtual record::Verification judge(const Work& work, std::span<const std::byte> expected,
                                     std::byte* actual) = 0;

  // Gives work that a call may have left to others, such as another stream, time to end.
  virtual void wait_for_others() = 0;
};

}  // namespace nf4bench::device
