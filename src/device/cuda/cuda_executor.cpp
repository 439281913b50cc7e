#include "device/cuda/cuda_executor.hpp"

#include "base/error.hpp"
#include "device/cuda/cuda_timing.hpp"
#include "device/memory.hpp"

#include <cuda_profiler_api.h>

#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace nf4bench::device {
namespace {

// Bytes of outputs that are copied behind one sample in another process.
constexpr std::int64_t kMostCopied = std::int64_t{256} << 20;

std::int64_t values_of(const Truth& truth) {
  return static_cast<std::int64_t>(truth.expected.own.size()) / truth.work.judge.expected_bytes;
}

class CudaExecutor final : public Executor {
 public:
  CudaExecutor(CudaContext& context, Memory& memory)
      : context_(context), memory_(memory), timing_(context) {}

  void run(const char* what, const std::function<void()>& calls) override {
    timing_.run(what, calls);
  }

  Taken sample(const Calls& calls, const SampleSpec& spec, const Truth* truth) override;
  void repeat(const Calls& calls, const SampleSpec& spec, int times) override;
  void profile(const Calls& calls, const SampleSpec& spec) override;

  void forget_addresses() override { timing_.forget_addresses(); }

  void forget_references() override { references_.clear(); }
  void refresh_reference(std::span<const std::byte> changed) override;

  record::Verification judge(const Work& work, std::span<const std::byte> expected,
                             std::byte* actual) override;

  void wait_for_others() override { wait_for_device(); }

 private:
  void prepare(const Calls& calls, const SampleSpec& spec);
  CallRange next(const Calls& calls, const SampleSpec& spec);
  Taken sample_elsewhere(const Calls& calls, const SampleSpec& spec, const CallRange& range,
                         const Truth* truth);
  std::vector<OutputCopy> copies_of(const std::vector<Written>& written, std::int64_t bytes);
  const CudaBuffer& upload_expected(std::span<const std::byte> expected);
  void begin_judging(const std::vector<Written>& written, const Truth& truth);
  void judge_behind(const std::vector<Written>& written, const Truth& truth);
  std::vector<record::Verification> judged(const std::vector<Written>& written, const Truth& truth);

  CudaContext& context_;
  Memory& memory_;
  CudaTiming timing_;
  // What outputs are held to, on the device, by where it was copied from and its size.
  std::map<std::pair<const std::byte*, std::size_t>, CudaBuffer> references_;
  CudaBuffer pairs_;           // a kernels::OutputPair for each output that is judged
  CudaBuffer verdicts_;        // a kernels::DeviceVerdict for each
  std::size_t first_set_ = 0;  // of the last stream sample
  std::size_t next_set_ = 0;
  std::map<CudaTiming::Key, std::size_t> last_graphs_;  // replayed modes: the last launched
  Buffer copied_;                                       // outputs of calls in another process
  std::mt19937_64 secret_{std::random_device{}()};
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
    std::ranges::transform(written, found.begin(), [&](const Written& each) {
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
  std::ranges::transform(verdicts, found.begin(), [&](const kernels::DeviceVerdict& verdict) {
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

void CudaExecutor::prepare(const Calls& calls, const SampleSpec& spec) {
  if (calls.sampler != nullptr) return calls.sampler->prepare(*calls.elsewhere, spec);
  timing_.prepare(calls, spec);
}

// The calls of the next sample: those of the next graph, or on the sets behind those of the last
// stream sample.
CallRange CudaExecutor::next(const Calls& calls, const SampleSpec& spec) {
  const auto launches = static_cast<std::size_t>(spec.launches);
  if (record::is_replayed(spec.launch)) {
    const std::size_t graphs = graphs_of(calls, spec);
    const auto [last, is_first] = last_graphs_.emplace(CudaTiming::key_of(calls, spec), graphs - 1);
    if (!calls.again) last->second = (last->second + 1) % graphs;
    return {last->second * launches, spec.launches, spec.cache};
  }
  if (spec.cache == record::CacheMode::kHot) return {0, spec.launches, spec.cache};
  if (!calls.again) {
    first_set_ = next_set_;
    next_set_ = (next_set_ + launches) % calls.sets;
  }
  return {first_set_, spec.launches, spec.cache};
}

// Where the calls of another process are judged, what is late is written by then. So that process
// copies outputs right behind its stop event: all of them, or some that nobody can foresee.
std::vector<OutputCopy> CudaExecutor::copies_of(const std::vector<Written>& written,
                                                std::int64_t bytes) {
  if (bytes == 0 || written.empty()) return {};
  const std::int64_t stride = aligned_bytes(bytes);
  const auto wanted = static_cast<std::int64_t>(written.size());
  const std::int64_t count = std::clamp<std::int64_t>(kMostCopied / stride, 1, wanted);
  if (copied_.bytes() < count * stride) copied_ = Buffer(memory_, count * stride, Access::kWrite);
  std::vector<OutputCopy> copies;
  copies.reserve(written.size());
  for (const Written& each : written) copies.push_back({.from = each.output, .bytes = bytes});
  if (count < wanted) std::ranges::shuffle(copies, secret_);
  copies.resize(static_cast<std::size_t>(count));
  std::byte* place = copied_.data();
  for (OutputCopy& copy : copies) copy.to = std::exchange(place, place + stride);
  return copies;
}

Taken CudaExecutor::sample(const Calls& calls, const SampleSpec& spec, const Truth* truth) {
  const CallRange range = next(calls, spec);
  if (calls.sampler != nullptr) return sample_elsewhere(calls, spec, range, truth);
  prepare(calls, spec);
  Taken taken;
  taken.written = calls.written(range);
  if (truth != nullptr) begin_judging(taken.written, *truth);
  if (calls.before) calls.before(taken.written);
  taken.sample = timing_.take(calls, spec, range, [&] {
    if (truth != nullptr) judge_behind(taken.written, *truth);
  });
  if (truth != nullptr) taken.found = judged(taken.written, *truth);
  return taken;
}

// What was copied is to be right, too.
Taken CudaExecutor::sample_elsewhere(const Calls& calls, const SampleSpec& spec,
                                     const CallRange& range, const Truth* truth) {
  Taken taken;
  taken.written = calls.written(range);
  std::vector<OutputCopy> copies;
  if (truth != nullptr) copies = copies_of(taken.written, truth->work.output_bytes);
  prepare(calls, spec);  // what was prepared is forgotten where room for copies was made
  if (calls.before) calls.before(taken.written);
  if (!copies.empty()) memory_.fill(copied_.data(), kPoisonByte, copied_.bytes());
  taken.sample = calls.sampler->take(spec, range, copies);
  if (truth == nullptr) return taken;
  std::vector<Written> looked_at = taken.written;
  std::vector<std::size_t> copied;
  for (const OutputCopy& copy : copies) {
    const auto original = std::ranges::find(taken.written, copy.from, &Written::output);
    copied.push_back(static_cast<std::size_t>(original - taken.written.begin()));
    looked_at.push_back(*original);
    looked_at.back().output = copy.to;
  }
  begin_judging(looked_at, *truth);
  judge_behind(looked_at, *truth);
  taken.found = judged(looked_at, *truth);
  for (std::size_t i = 0; i < copied.size(); ++i) {
    const record::Verification& found = taken.found[taken.written.size() + i];
    if (!found.passed()) taken.found[copied[i]] = found;
  }
  taken.found.resize(taken.written.size());
  return taken;
}

void CudaExecutor::repeat(const Calls& calls, const SampleSpec& spec, int times) {
  prepare(calls, spec);
  std::vector<CallRange> ranges;
  ranges.reserve(static_cast<std::size_t>(times));
  for (int i = 0; i < times; ++i) ranges.push_back(next(calls, spec));
  if (calls.sampler != nullptr) return calls.sampler->repeat(spec, ranges);
  timing_.repeat(calls, spec, ranges);
}

void CudaExecutor::profile(const Calls& calls, const SampleSpec& spec) {
  if (calls.sampler != nullptr) {
    throw Error(ErrorKind::kDevice, "it launches in another process, where nobody looks at it");
  }
  prepare(calls, spec);
  check_cuda(cudaProfilerStart(), "tell a profiler to begin");
  timing_.repeat(calls, spec, {next(calls, spec)});
  check_cuda(cudaProfilerStop(), "tell a profiler to end");
}

}  // namespace

std::unique_ptr<Executor> make_cuda_executor(CudaContext& context, Memory& memory) {
  return std::make_unique<CudaExecutor>(context, memory);
}

}  // namespace nf4bench::device
