#include "device/cuda/cuda_timing.hpp"

#include "base/error.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

namespace nf4bench::device {

std::size_t graphs_of(const Calls& calls, const SampleSpec& spec) {
  const std::size_t sets = spec.cache == record::CacheMode::kHot ? 1 : calls.sets;
  const auto launches = static_cast<std::size_t>(spec.launches);
  return (sets + launches - 1) / launches;
}

void CudaTiming::run(const char* what, const std::function<void()>& calls) const {
  calls();
  check_cuda(cudaGetLastError(), what);
  context_.stream.synchronize();
  if (restore_l2_set_aside(context_.l2_set_aside)) {
    throw Error(ErrorKind::kDevice,
                "changes how much of L2 is set aside for persisting lines, which all others would "
                "feel; a variant must leave cudaLimitPersistingL2CacheSize as it is");
  }
}

void CudaTiming::prepare(const Calls& calls, const SampleSpec& spec) {
  const Key key = key_of(calls, spec);
  if (prepared_.contains(key)) return;
  Prepared prepared;
  // Loads the module, fills what is lazy.
  run("launch the kernel", [&] { calls.make({0, 1, spec.cache}); });
  if (record::is_replayed(spec.launch)) capture(calls, spec, prepared);
  prepared_[key] = std::move(prepared);
}

// Fewer launches than sets: several graphs in turn, or a cold replay would meet its own lines.
void CudaTiming::capture(const Calls& calls, const SampleSpec& spec, Prepared& prepared) const {
  const auto launches = static_cast<std::size_t>(spec.launches);
  for (std::size_t i = 0; i < graphs_of(calls, spec); ++i) {
    prepared.graphs.emplace_back(context_.stream, [&] {
      record_calls(calls, spec, i * launches);
      check_cuda(cudaGetLastError(), "launch the kernel");
    });
  }
  if (spec.launch == record::LaunchMode::kSpaced) {
    prepared.spacers.emplace(context_.stream, [&] {
      for (int i = 0; i < spec.launches; ++i) record_spacer();
      check_cuda(cudaGetLastError(), "launch what stands before the kernel");
    });
  }
  context_.stream.synchronize();
  std::int64_t enqueue_ns = 0;
  for (const CudaGraph& graph : prepared.graphs) {
    const auto before = std::chrono::steady_clock::now();
    graph.launch(context_.stream);
    const std::chrono::nanoseconds passed = std::chrono::steady_clock::now() - before;
    context_.stream.synchronize();
    enqueue_ns = std::max<std::int64_t>(enqueue_ns, passed.count());
  }
  prepared.busy_ns = std::min<std::int64_t>(2 * enqueue_ns + 20'000, 2'000'000);
}

void CudaTiming::record_calls(const Calls& calls, const SampleSpec& spec, std::size_t first) const {
  if (spec.launch != record::LaunchMode::kSpaced) {
    return calls.make({first, spec.launches, spec.cache});
  }
  for (int i = 0; i < spec.launches; ++i) {
    record_spacer();
    calls.make({.first_set = first, .count = i + 1, .cache = spec.cache, .from = i});
  }
}

void CudaTiming::record_spacer() const {
  kernels::cuda::launch_spacer(reinterpret_cast<float*>(context_.spacer_output.data()),
                               context_.info.multiprocessors, context_.stream.get());
}

void CudaTiming::make(const Calls& calls, const SampleSpec& spec, const CallRange& range) const {
  if (!record::is_replayed(spec.launch)) return calls.make(range);
  const Prepared& prepared = prepared_.at(key_of(calls, spec));
  prepared.graphs.at(range.first_set / static_cast<std::size_t>(spec.launches))
      .launch(context_.stream);
}

// Fills L2 with lines of a foreign kernel. What it stored stays for long where a variant's own
// lines are evicted first, and what judging and other variants leave is of all kinds: every sample
// begins with the same.
void CudaTiming::fill_cache(ForeignLines lines) const {
  const CudaBuffer& foreign = context_.foreign;
  if (lines == ForeignLines::kRead) {
    auto* const sink = reinterpret_cast<float*>(context_.spacer_output.data());
    kernels::cuda::launch_read(foreign.data(), foreign.bytes(), sink, context_.stream.get());
    return;
  }
  check_cuda(cudaMemsetAsync(foreign.data(), 0, static_cast<std::size_t>(foreign.bytes()),
                             context_.stream.get()),
             "fill the cache");
}

Sample CudaTiming::take(const Calls& calls, const SampleSpec& spec, const CallRange& range,
                        const std::function<void()>& behind) {
  const Prepared& prepared = prepared_.at(key_of(calls, spec));
  if (spec.cache == record::CacheMode::kCold && record::is_replayed(spec.launch)) {
    fill_cache(calls.foreign_lines);
  }
  Sample sample;
  double seconds = time(
      prepared.busy_ns, [&] { make(calls, spec, range); }, behind);
  sample.sm_clock_hz = stamped_clock();
  if (prepared.spacers) {
    const auto spacers = [&] { prepared.spacers->launch(context_.stream); };
    seconds -= time(prepared.busy_ns, spacers, [] {});
  }
  sample.seconds = seconds / spec.launches;
  return sample;
}

double CudaTiming::repeat(const Calls& calls, const SampleSpec& spec,
                          const std::vector<CallRange>& ranges) {
  run("repeat the kernel", [&] {
    check_cuda(cudaEventRecord(context_.start.get(), context_.stream.get()), "record an event");
    for (const CallRange& range : ranges) make(calls, spec, range);
    check_cuda(cudaEventRecord(context_.stop.get(), context_.stream.get()), "record an event");
  });
  return seconds_between(context_.start, context_.stop);
}

// Seconds between two events around `work`, and stamps outside of these; `behind` enqueues what
// comes next, before anybody waits. Graphs start behind a busy kernel, so that they are enqueued
// before their start event runs. Plain launches do not: the host's launching is part of what they
// measure.
double CudaTiming::time(std::int64_t busy_ns, const std::function<void()>& work,
                        const std::function<void()>& behind) const {
  cudaStream_t stream = context_.stream.get();
  const int multiprocessors = context_.info.multiprocessors;
  auto* const stamps = static_cast<kernels::cuda::ClockStamp*>(context_.stamps.data());
  std::memset(static_cast<void*>(stamps), 0,
              sizeof(kernels::cuda::ClockStamp) * 2 * static_cast<std::size_t>(multiprocessors));
  if (busy_ns > 0) kernels::cuda::launch_busy(busy_ns, stream);
  kernels::cuda::launch_clock_stamp(stamps, multiprocessors, stream);
  check_cuda(cudaEventRecord(context_.start.get(), stream), "record an event");
  work();
  check_cuda(cudaEventRecord(context_.stop.get(), stream), "record an event");
  kernels::cuda::launch_clock_stamp(stamps + multiprocessors, multiprocessors, stream);
  check_cuda(cudaGetLastError(), "launch the kernel");
  behind();
  wait_for_device();
  return seconds_between(context_.start, context_.stop);
}

// Median over the multiprocessors that both stamps reached of cycles over time.
std::optional<double> CudaTiming::stamped_clock() const {
  const int multiprocessors = context_.info.multiprocessors;
  const auto* before = static_cast<const kernels::cuda::ClockStamp*>(context_.stamps.data());
  const auto* after = before + multiprocessors;
  std::vector<double> clocks;
  for (int i = 0; i < multiprocessors; ++i) {
    if (before[i].nanoseconds == 0 || after[i].nanoseconds <= before[i].nanoseconds) continue;
    clocks.push_back(static_cast<double>(after[i].cycles - before[i].cycles) * 1e9 /
                     static_cast<double>(after[i].nanoseconds - before[i].nanoseconds));
  }
  if (clocks.empty()) return std::nullopt;
  const auto middle = clocks.begin() + static_cast<std::ptrdiff_t>(clocks.size() / 2);
  std::nth_element(clocks.begin(), middle, clocks.end());
  return *middle;
}

}  // namespace nf4bench::device
