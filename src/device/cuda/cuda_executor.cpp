#include "device/cuda/cuda_executor.hpp"

#include "base/error.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace nf4bench::device {
namespace {

std::int64_t values_of(const Truth& truth) {
  return static_cast<std::int64_t>(truth.expected.own.size()) / truth.work.judge.expected_bytes;
}

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

  Taken sample(const Calls& calls, const SampleSpec& spec, const Truth* truth) override;
  void repeat(const Calls& calls, const SampleSpec& spec, int times) override;

  void forget_addresses() override { prepared_.clear(); }

  void forget_references() override { references_.clear(); }
  void refresh_reference(std::span<const std::byte> changed) override;

  record::Verification judge(const Work& work, std::span<const std::byte> expected,
                             std::byte* actual) override;

  // Of all streams, whoever made them.
  void wait_for_others() override { check_cuda(cudaDeviceSynchronize(), "wait for the device"); }

 private:
  struct Prepared {
    std::vector<CudaGraph> graphs;     // replayed modes: taken in turn, so that all sets rotate
    std::size_t last = 0;              // the one that was launched last
    std::optional<CudaGraph> spacers;  // spaced mode: what stands before the calls, alone
    std::int64_t busy_ns = 0;          // how long the stream is kept busy while a graph is enqueued
  };

  using Key = std::tuple<std::string, record::CacheMode, record::LaunchMode, int>;

  Prepared& prepare(const Calls& calls, const SampleSpec& spec);
  void capture(const Calls& calls, const SampleSpec& spec, Prepared& prepared) const;
  void record_calls(const Calls& calls, const SampleSpec& spec, std::size_t first) const;
  void record_spacer() const;
  CallRange next(const Calls& calls, const SampleSpec& spec, Prepared& prepared);
  void fill_cache(ForeignLines lines) const;
  double time(std::int64_t busy_ns, const std::function<void()>& work,
              const std::function<void()>& behind);
  const CudaBuffer& upload_expected(std::span<const std::byte> expected);
  void begin_judging(const std::vector<Written>& written, const Truth& truth);
  void judge_behind(const std::vector<Written>& written, const Truth& truth);
  std::vector<record::Verification> judged(const std::vector<Written>& written, const Truth& truth);
  std::optional<double> stamped_clock() const;

  CudaContext& context_;
  // What outputs are held to, on the device, by where it was copied from and its size.
  std::map<std::pair<const std::byte*, std::size_t>, CudaBuffer> references_;
  CudaBuffer pairs_;           // a kernels::OutputPair for each output that is judged
  CudaBuffer verdicts_;        // a kernels::DeviceVerdict for each
  std::size_t first_set_ = 0;  // of the last stream sample
  std::size_t next_set_ = 0;
  std::map<Key, Prepared> prepared_;
};

const CudaBuffer& CudaExecutor::upload_expected(std::span<const std::byte> expected) {
  const std::pair source{expected.data(), expected.size()};
  const auto known = references_.find(source);
  if (known != references_.end()) return known->second;
  CudaBuffer copy(static_cast<std::int64_t>(expected.size()));
  // On the stream of the comparison: a copy on another one may still be under way when it starts.
  check_cuda(cudaMemcpyAsync(copy.data(), expected.data(), expected.size(), cudaMemcpyHostToDevice,
                             context_.stream.get()),
             "copy the reference to the device");
  return references_[source] = std::move(copy);
}

void CudaExecutor::refresh_reference(std::span<const std::byte> changed) {
  for (const auto& [source, copy] : references_) {
    const std::span whole(source.first, source.second);
    const std::less_equal<const std::byte*> precedes;
    const bool is_part = precedes(whole.data(), changed.data()) &&
                         precedes(changed.data() + changed.size(), whole.data() + whole.size());
    if (!is_part) continue;
    check_cuda(cudaMemcpyAsync(copy.data() + (changed.data() - whole.data()), changed.data(),
                               changed.size(), cudaMemcpyHostToDevice, context_.stream.get()),
               "copy a part of the reference to the device");
  }
}

// Copies `values` to `buffer`, which grows as needed.
template <class Value>
void enqueue_copy(CudaBuffer& buffer, const std::vector<Value>& values, const CudaStream& stream) {
  const auto bytes = static_cast<std::int64_t>(values.size() * sizeof(Value));
  if (buffer.bytes() < bytes) buffer = CudaBuffer(bytes);
  check_cuda(cudaMemcpyAsync(buffer.data(), values.data(), static_cast<std::size_t>(bytes),
                             cudaMemcpyHostToDevice, stream.get()),
             "start a comparison");
}

// Puts in place what judge_behind() needs, so that nothing but a kernel is left to be enqueued.
void CudaExecutor::begin_judging(const std::vector<Written>& written, const Truth& truth) {
  if (truth.work.judge.on_device == nullptr || values_of(truth) == 0) return;
  std::vector<kernels::OutputPair> pairs;
  pairs.reserve(written.size());
  for (const Written& each : written) {
    pairs.push_back({upload_expected(truth.expected.of(each.content)).data(), each.output});
  }
  enqueue_copy(pairs_, pairs, context_.stream);
  enqueue_copy(verdicts_, std::vector<kernels::DeviceVerdict>(written.size()), context_.stream);
}

void CudaExecutor::judge_behind(const std::vector<Written>& written, const Truth& truth) {
  if (truth.work.judge.on_device == nullptr || values_of(truth) == 0) return;
  truth.work.judge.on_device({.type = truth.work.problem.output_type,
                              .values = values_of(truth),
                              .pairs = reinterpret_cast<const kernels::OutputPair*>(pairs_.data()),
                              .count = static_cast<int>(written.size())},
                             reinterpret_cast<kernels::DeviceVerdict*>(verdicts_.data()),
                             context_.stream.get());
  check_cuda(cudaGetLastError(), "launch the comparison");
}

// One for each output. Where the device cannot judge, the host does.
std::vector<record::Verification> CudaExecutor::judged(const std::vector<Written>& written,
                                                       const Truth& truth) {
  std::vector<record::Verification> found(written.size());
  if (truth.work.judge.on_device == nullptr) {
    std::transform(written.begin(), written.end(), found.begin(), [&](const Written& each) {
      const std::span<const std::byte> expected = truth.expected.of(each.content);
      std::vector<std::byte> output(
          std::min(expected.size(), static_cast<std::size_t>(truth.work.output_bytes)));
      check_cuda(cudaMemcpyAsync(output.data(), each.output, output.size(), cudaMemcpyDeviceToHost,
                                 context_.stream.get()),
                 "read an output");
      context_.stream.synchronize();
      return truth.work.judge.on_host(expected, output);
    });
    return found;
  }
  if (values_of(truth) == 0) return found;
  std::vector<kernels::DeviceVerdict> verdicts(written.size());
  check_cuda(cudaMemcpyAsync(verdicts.data(), verdicts_.data(),
                             verdicts.size() * sizeof(kernels::DeviceVerdict),
                             cudaMemcpyDeviceToHost, context_.stream.get()),
             "read a comparison");
  context_.stream.synchronize();
  std::transform(verdicts.begin(), verdicts.end(), found.begin(),
                 [&](const kernels::DeviceVerdict& verdict) {
                   return truth.work.judge.read_verdict(verdict, values_of(truth));
                 });
  return found;
}

record::Verification CudaExecutor::judge(const Work& work, std::span<const std::byte> expected,
                                         std::byte* actual) {
  const Truth truth = {work, {expected}};
  const std::vector<Written> written = {{.output = actual}};
  begin_judging(written, truth);
  judge_behind(written, truth);
  return judged(written, truth).front();
}

CudaExecutor::Prepared& CudaExecutor::prepare(const Calls& calls, const SampleSpec& spec) {
  const Key key{calls.name, spec.cache, spec.launch, spec.launches};
  if (const auto known = prepared_.find(key); known != prepared_.end()) return known->second;
  Prepared prepared;
  // Loads the module, fills what is lazy.
  run("launch the kernel", [&] { calls.make({0, 1, spec.cache}); });
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
  prepared.last = prepared.graphs.size() - 1;
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
    return calls.make({first, spec.launches, spec.cache});
  }
  for (int i = 0; i < spec.launches; ++i) {
    record_spacer();
    calls.make({.first_set = first, .count = i + 1, .cache = spec.cache, .from = i});
  }
}

void CudaExecutor::record_spacer() const {
  kernels::cuda::launch_spacer(reinterpret_cast<float*>(context_.spacer_output.data()),
                               context_.info.multiprocessors, context_.stream.get());
}

// The calls of the next sample: those of the next graph, or on the sets behind those of the last
// stream sample.
CallRange CudaExecutor::next(const Calls& calls, const SampleSpec& spec, Prepared& prepared) {
  const auto launches = static_cast<std::size_t>(spec.launches);
  if (record::is_replayed(spec.launch)) {
    if (!calls.again) prepared.last = (prepared.last + 1) % prepared.graphs.size();
    return {prepared.last * launches, spec.launches, spec.cache};
  }
  if (spec.cache == record::CacheMode::kHot) return {0, spec.launches, spec.cache};
  if (!calls.again) {
    first_set_ = next_set_;
    next_set_ = (next_set_ + launches) % calls.sets;
  }
  return {first_set_, spec.launches, spec.cache};
}

// Fills L2 with lines of a foreign kernel. What it stored stays for long where a variant's own
// lines are evicted first, and what judging and other variants leave is of all kinds: every sample
// begins with the same.
void CudaExecutor::fill_cache(ForeignLines lines) const {
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

Taken CudaExecutor::sample(const Calls& calls, const SampleSpec& spec, const Truth* truth) {
  Prepared& prepared = prepare(calls, spec);
  const CallRange range = next(calls, spec, prepared);
  Taken taken;
  taken.written = calls.written(range);
  if (truth != nullptr) begin_judging(taken.written, *truth);
  if (calls.before) calls.before(taken.written);
  if (spec.cache == record::CacheMode::kCold && record::is_replayed(spec.launch)) {
    fill_cache(calls.foreign_lines);
  }
  const auto work = [&] {
    if (!record::is_replayed(spec.launch)) return calls.make(range);
    prepared.graphs[prepared.last].launch(context_.stream);
  };
  double seconds = time(prepared.busy_ns, work, [&] {
    if (truth != nullptr) judge_behind(taken.written, *truth);
  });
  taken.sample.sm_clock_hz = stamped_clock();
  if (truth != nullptr) taken.found = judged(taken.written, *truth);
  if (prepared.spacers) {
    const auto spacers = [&] { prepared.spacers->launch(context_.stream); };
    seconds -= time(prepared.busy_ns, spacers, [] {});
  }
  taken.sample.seconds = seconds / spec.launches;
  return taken;
}

void CudaExecutor::repeat(const Calls& calls, const SampleSpec& spec, int times) {
  Prepared& prepared = prepare(calls, spec);
  run("repeat the kernel", [&] {
    for (int i = 0; i < times; ++i) {
      const CallRange range = next(calls, spec, prepared);
      if (record::is_replayed(spec.launch)) {
        prepared.graphs[prepared.last].launch(context_.stream);
      } else {
        calls.make(range);
      }
    }
  });
}

// Seconds between two events around `work`, and stamps outside of these; `behind` enqueues what
// comes next, before anybody waits. Graphs start behind a busy kernel, so that they are enqueued
// before their start event runs. Plain launches do not: the host's launching is part of what they
// measure.
double CudaExecutor::time(std::int64_t busy_ns, const std::function<void()>& work,
                          const std::function<void()>& behind) {
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
  wait_for_others();
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
