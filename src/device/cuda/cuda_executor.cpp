#include "device/cuda/cuda_executor.hpp"

#include "base/error.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace nf4bench::device {
namespace {

class CudaExecutor final : public Executor {
 public:
  explicit CudaExecutor(CudaContext& context) : context_(context) {}

  void run(const char* what, const std::function<void()>& calls) override {
    calls();
    check_cuda(cudaGetLastError(), what);
    context_.stream.synchronize();
    if (restore_l2_set_aside(context_.l2_set_aside)) {
      throw Error(ErrorKind::kDevice,
                  "changes how much of L2 is set aside for persisting lines, which all others "
                  "would feel; a variant must leave cudaLimitPersistingL2CacheSize as it is");
    }
  }

  Sample sample(const Calls& calls, const SampleSpec& spec) override;

  void forget_addresses() override { prepared_.clear(); }

  record::Verification judge(const Work& work, std::span<const std::byte> expected,
                             const std::byte* actual) override;

 private:
  struct Prepared {
    std::vector<CudaGraph> graphs;  // replayed modes: taken in turn, so that all sets rotate
    std::size_t next = 0;
    std::optional<CudaGraph> spacers;  // spaced mode: what stands before the calls, alone
    std::int64_t busy_ns = 0;          // how long the stream is kept busy while a graph is enqueued
  };

  using Key = std::tuple<std::string, record::CacheMode, record::LaunchMode, int>;

  Prepared& prepare(const Calls& calls, const SampleSpec& spec);
  void capture(const Calls& calls, const SampleSpec& spec, Prepared& prepared) const;
  void record_calls(const Calls& calls, const SampleSpec& spec, std::size_t first) const;
  void record_spacer() const;
  void enqueue(const Calls& calls, const SampleSpec& spec, Prepared& prepared);
  double time(std::int64_t busy_ns, const std::function<void()>& work);
  void upload_expected(std::span<const std::byte> expected);
  std::optional<double> stamped_clock() const;

  CudaContext& context_;
  CudaBuffer expected_;
  std::span<const std::byte> expected_source_;
  std::size_t next_set_ = 0;
  std::map<Key, Prepared> prepared_;
};

void CudaExecutor::upload_expected(std::span<const std::byte> expected) {
  const bool is_there =
      expected_source_.data() == expected.data() && expected_source_.size() == expected.size();
  if (is_there) return;
  expected_source_ = {};  // until all of it is there
  expected_ = CudaBuffer();
  expected_ = CudaBuffer(static_cast<std::int64_t>(expected.size()));
  // On the stream of the comparison: a copy on another one may still be under way when it starts.
  check_cuda(cudaMemcpyAsync(expected_.data(), expected.data(), expected.size(),
                             cudaMemcpyHostToDevice, context_.stream.get()),
             "copy the reference to the device");
  expected_source_ = expected;
}

record::Verification CudaExecutor::judge(const Work& work, std::span<const std::byte> expected,
                                         const std::byte* actual) {
  cudaStream_t stream = context_.stream.get();
  if (work.judge.on_device == nullptr) {
    std::vector<std::byte> output(
        std::min(expected.size(), static_cast<std::size_t>(work.output_bytes)));
    check_cuda(cudaMemcpy(output.data(), actual, output.size(), cudaMemcpyDeviceToHost),
               "read an output");
    return work.judge.on_host(expected, output);
  }
  upload_expected(expected);
  record::Verification verification;
  const nf4::OutputType type = work.problem.output_type;
  verification.compared = static_cast<std::int64_t>(expected.size() / nf4::size_in_bytes(type));
  if (verification.compared == 0) return verification;
  kernels::DeviceVerdict found;
  auto* const on_device = reinterpret_cast<kernels::DeviceVerdict*>(context_.verdict.data());
  check_cuda(cudaMemcpyAsync(on_device, &found, sizeof(found), cudaMemcpyHostToDevice, stream),
             "start a comparison");
  work.judge.on_device({.type = type,
                        .expected = expected_.data(),
                        .actual = actual,
                        .count = verification.compared},
                       on_device, stream);
  check_cuda(cudaGetLastError(), "launch the comparison");
  check_cuda(cudaMemcpyAsync(&found, on_device, sizeof(found), cudaMemcpyDeviceToHost, stream),
             "read a comparison");
  context_.stream.synchronize();
  verification.mismatches = static_cast<std::int64_t>(found.mismatches);
  verification.max_ulp = found.max_ulp;
  if (found.mismatches != 0) {
    verification.first_mismatch = static_cast<std::int64_t>(found.first_mismatch);
  }
  return verification;
}

CudaExecutor::Prepared& CudaExecutor::prepare(const Calls& calls, const SampleSpec& spec) {
  const Key key{calls.name, spec.cache, spec.launch, spec.launches};
  if (const auto known = prepared_.find(key); known != prepared_.end()) return known->second;
  Prepared prepared;
  // Loads the module, fills what is lazy.
  run("launch the kernel", [&] { calls.make(0, 1, spec.cache); });
  if (record::is_replayed(spec.launch)) capture(calls, spec, prepared);
  return prepared_[key] = std::move(prepared);
}

// Fewer launches than sets: several graphs in turn, or a cold replay would meet its own lines.
void CudaExecutor::capture(const Calls& calls, const SampleSpec& spec, Prepared& prepared) const {
  const std::size_t sets = spec.cache == record::CacheMode::kHot ? 1 : calls.sets;
  const auto launches = static_cast<std::size_t>(spec.launches);
  for (std::size_t first = 0; first < sets; first += launches) {
    prepared.graphs.emplace_back(context_.stream, [&] {
      record_calls(calls, spec, first);
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

void CudaExecutor::record_calls(const Calls& calls, const SampleSpec& spec,
                                std::size_t first) const {
  if (spec.launch != record::LaunchMode::kSpaced) {
    return calls.make(first, spec.launches, spec.cache);
  }
  const std::size_t step = spec.cache == record::CacheMode::kHot ? 0 : 1;
  for (int i = 0; i < spec.launches; ++i) {
    record_spacer();
    calls.make(first + static_cast<std::size_t>(i) * step, 1, spec.cache);
  }
}

void CudaExecutor::record_spacer() const {
  kernels::cuda::launch_spacer(reinterpret_cast<float*>(context_.spacer_output.data()),
                               context_.info.multiprocessors, context_.stream.get());
}

void CudaExecutor::enqueue(const Calls& calls, const SampleSpec& spec, Prepared& prepared) {
  if (record::is_replayed(spec.launch)) {
    prepared.graphs[prepared.next].launch(context_.stream);
    prepared.next = (prepared.next + 1) % prepared.graphs.size();
  } else {
    calls.make(next_set_, spec.launches, spec.cache);
    next_set_ = (next_set_ + static_cast<std::size_t>(spec.launches)) % calls.sets;
  }
}

Sample CudaExecutor::sample(const Calls& calls, const SampleSpec& spec) {
  Prepared& prepared = prepare(calls, spec);
  double seconds = time(prepared.busy_ns, [&] { enqueue(calls, spec, prepared); });
  const std::optional<double> sm_clock_hz = stamped_clock();
  if (prepared.spacers) {
    seconds -= time(prepared.busy_ns, [&] { prepared.spacers->launch(context_.stream); });
  }
  return {seconds / spec.launches, sm_clock_hz};
}

// Seconds between two events around `work`, and stamps outside of these. Graphs start behind a busy
// kernel, so that they are enqueued before their start event runs. Plain launches do not: the
// host's launching is part of what they measure.
double CudaExecutor::time(std::int64_t busy_ns, const std::function<void()>& work) {
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
  context_.stream.synchronize();
  return seconds_between(context_.start, context_.stop);
}

// Median over the multiprocessors that both stamps reached of cycles over time.
std::optional<double> CudaExecutor::stamped_clock() const {
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

}  // namespace

std::unique_ptr<Executor> make_cuda_executor(CudaContext& context) {
  return std::make_unique<CudaExecutor>(context);
}

}  // namespace nf4bench::device
