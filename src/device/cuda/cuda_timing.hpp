#pragma once

#include "device/cuda/cuda_resources.hpp"
#include "device/executor.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace nf4bench::device {

// The ranges of calls that a replayed sample may be of: each has a graph of its own.
std::size_t graphs_of(const Calls& calls, const SampleSpec& spec);

// Makes calls on the context's stream, plainly or as captured graphs, and times them by its events.
class CudaTiming {
 public:
  // What is prepared once.
  using Key = std::tuple<std::string, record::CacheMode, record::LaunchMode, int>;

  static Key key_of(const Calls& calls, const SampleSpec& spec) {
    return {calls.name, spec.cache, spec.launch, spec.launches};
  }

  explicit CudaTiming(CudaContext& context) : context_(context) {}

  // As Executor::run().
  void run(const char* what, const std::function<void()>& calls) const;

  // Warms up, and captures graphs; once for calls of one key.
  void prepare(const Calls& calls, const SampleSpec& spec);

  // A sample of a range that was prepared; `behind` enqueues what is to follow the last call before
  // anybody waits.
  Sample take(const Calls& calls, const SampleSpec& spec, const CallRange& range,
              const std::function<void()>& behind);

  // Makes the calls of prepared ranges, back to back, and waits for their end. Returns the seconds
  // between two events around them.
  double repeat(const Calls& calls, const SampleSpec& spec, const std::vector<CallRange>& ranges);

  void forget_addresses() { prepared_.clear(); }

 private:
  struct Prepared {
    std::vector<CudaGraph> graphs;     // replayed modes: taken in turn, so that all sets rotate
    std::optional<CudaGraph> spacers;  // spaced mode: what stands before the calls, alone
    std::int64_t busy_ns = 0;          // how long the stream is kept busy while a graph is enqueued
  };

  void capture(const Calls& calls, const SampleSpec& spec, Prepared& prepared) const;
  void record_calls(const Calls& calls, const SampleSpec& spec, std::size_t first) const;
  void record_spacer() const;
  void make(const Calls& calls, const SampleSpec& spec, const CallRange& range) const;
  void fill_cache(ForeignLines lines) const;
  double time(std::int64_t busy_ns, const std::function<void()>& work,
              const std::function<void()>& behind) const;
  std::optional<double> stamped_clock() const;

  CudaContext& context_;
  std::map<Key, Prepared> prepared_;
};

}  // namespace nf4bench::device
