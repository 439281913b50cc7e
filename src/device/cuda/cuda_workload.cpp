#include "device/cuda/cuda_workload.hpp"

#include "device/cuda/cuda_tensor.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <utility>

namespace nf4bench::device {
namespace {

constexpr std::int64_t kGuardBytes = 256;  // before and after what a variant may write

class CudaWorkload final : public Workload {
 public:
  CudaWorkload(CudaContext& context, const nf4::Nf4Tensor& tensor, nf4::OutputType type,
               UploadPurpose purpose);

  std::string unsupported(const kernels::Variant& variant) const override;
  int buffer_sets() const override { return static_cast<int>(jobs().size()); }
  std::int64_t bytes_read() const override { return bytes_read_; }
  std::int64_t bytes_written() const override { return tensor_.output().bytes(); }
  record::Verification verify(const kernels::Variant& variant,
                              std::span<const std::byte> expected) override;
  std::vector<std::byte> output_of(const kernels::Variant& variant) override;
  Sample sample(const kernels::Variant& variant, const SampleSpec& spec) override;

 private:
  // What a variant's prepare() left for each set, so that no other variant overwrites it.
  struct OwnWorkspaces {
    GuardedBuffer first;
    CudaBuffer others;
    std::int64_t stride = 0;

    std::uint8_t* of(std::size_t set) const {
      return set == 0 ? first.data() : others.data() + static_cast<std::int64_t>(set - 1) * stride;
    }
  };
  struct Prepared {
    std::vector<CudaGraph> graphs;  // graph mode: taken in turn, so that all sets rotate
    std::size_t next = 0;
    std::int64_t busy_ns = 0;  // how long the stream is kept busy while a graph is enqueued
  };

  const std::vector<kernels::Job>& jobs() const { return tensor_.jobs(); }
  void reserve_workspace(const kernels::Variant& variant);
  void run_poisoned(const kernels::Variant& variant);
  void* workspace_of(const kernels::Variant& variant, std::size_t set) const;
  void prepare_set(const kernels::Variant& variant, std::size_t set) const;
  void enqueue(const kernels::Variant& variant, record::CacheMode cache, int launches,
               std::size_t first_set);
  Prepared& prepare(const kernels::Variant& variant, const SampleSpec& spec);
  std::optional<double> stamped_clock() const;

  CudaContext& context_;
  nf4::OutputType type_;
  std::int64_t bytes_read_;
  std::int64_t guard_;
  CudaTensor tensor_;
  GuardedBuffer workspace_;                              // all sets share it: it is scratch
  std::map<std::string, OwnWorkspaces> own_workspaces_;  // of variants with a prepare()
  CudaBuffer expected_;
  std::span<const std::byte> expected_source_;
  std::size_t next_set_ = 0;
  std::map<std::pair<std::string, int>, Prepared> prepared_;
};

CudaWorkload::CudaWorkload(CudaContext& context, const nf4::Nf4Tensor& tensor, nf4::OutputType type,
                           UploadPurpose purpose)
    : context_(context),
      type_(type),
      bytes_read_(nf4bench::nf4::bytes_read(tensor)),
      // Verification alone leaves no slack, so that a memory checker sees every stray access.
      guard_(purpose == UploadPurpose::kVerify ? 0 : kGuardBytes),
      tensor_(tensor, type, guard_, context.stream) {
  if (purpose == UploadPurpose::kTime) {
    tensor_.add_sets(5 * context.info.l2_bytes, context.stream);
  }
  context_.stream.synchronize();
}

std::string CudaWorkload::unsupported(const kernels::Variant& variant) const {
  const char* reason = variant.unsupported(jobs().front(), facts_of(context_.info));
  return reason == nullptr ? "" : reason;
}

// Makes the workspaces that `variant` needs, and fills them if it prepares them.
void CudaWorkload::reserve_workspace(const kernels::Variant& variant) {
  const auto wanted = static_cast<std::int64_t>(variant.workspace_bytes(jobs().front()));
  if (variant.prepare) {
    if (own_workspaces_.contains(variant.name)) return;
    const auto others = static_cast<std::int64_t>(jobs().size()) - 1;
    OwnWorkspaces own = {.first = GuardedBuffer(wanted, guard_),
                         .others = CudaBuffer(others * aligned_bytes(wanted)),
                         .stride = aligned_bytes(wanted)};
    own_workspaces_.emplace(variant.name, std::move(own));
    try {
      for (std::size_t set = 0; set < jobs().size(); ++set) prepare_set(variant, set);
    } catch (...) {
      own_workspaces_.erase(variant.name);  // half prepared is not prepared
      throw;
    }
  } else if (wanted > workspace_.bytes() || (guard_ == 0 && wanted != workspace_.bytes())) {
    prepared_.clear();  // graphs hold the old address
    workspace_ = GuardedBuffer(wanted, guard_);
  }
}

void* CudaWorkload::workspace_of(const kernels::Variant& variant, std::size_t set) const {
  return variant.prepare ? own_workspaces_.at(variant.name).of(set) : workspace_.data();
}

void CudaWorkload::prepare_set(const kernels::Variant& variant, std::size_t set) const {
  kernels::Job job = jobs()[set];
  job.workspace = workspace_of(variant, set);
  if (job.elements > 0) variant.prepare(job, context_.launch());
  check_cuda(cudaGetLastError(), "launch what comes before the kernel");
}

void CudaWorkload::run_poisoned(const kernels::Variant& variant) {
  reserve_workspace(variant);
  const GuardedBuffer& workspace =
      variant.prepare ? own_workspaces_.at(variant.name).first : workspace_;
  tensor_.output().poison(context_.stream.get());
  workspace.poison(context_.stream.get());
  if (variant.prepare) prepare_set(variant, 0);
  if (jobs().front().elements > 0) enqueue(variant, record::CacheMode::kHot, 1, 0);
  context_.stream.synchronize();
  tensor_.output().check_guards("output", tensor_.output().bytes());
  workspace.check_guards(
      "workspace", static_cast<std::int64_t>(variant.workspace_bytes(tensor_.jobs().front())));
}

record::Verification CudaWorkload::verify(const kernels::Variant& variant,
                                          std::span<const std::byte> expected) {
  const auto bytes = static_cast<std::int64_t>(expected.size());
  if (expected_source_.data() != expected.data() || expected_source_.size() != expected.size()) {
    expected_source_ = {};  // until all of it is there
    expected_ = CudaBuffer();
    expected_ = CudaBuffer(bytes);
    check_cuda(
        cudaMemcpy(expected_.data(), expected.data(), expected.size(), cudaMemcpyHostToDevice),
        "copy the reference to the device");
    expected_source_ = expected;
  }
  run_poisoned(variant);
  record::Verification comparison;
  comparison.compared = bytes / static_cast<std::int64_t>(nf4::size_in_bytes(type_));
  if (comparison.compared == 0) return comparison;
  kernels::cuda::DeviceComparison found = {0, ~0ull, 0};
  auto* const on_device =
      reinterpret_cast<kernels::cuda::DeviceComparison*>(context_.comparison.data());
  cudaStream_t stream = context_.stream.get();
  check_cuda(cudaMemcpyAsync(on_device, &found, sizeof(found), cudaMemcpyHostToDevice, stream),
             "start a comparison");
  kernels::cuda::launch_compare(type_, expected_.data(), tensor_.output().data(), 0,
                                comparison.compared, on_device, stream);
  check_cuda(cudaGetLastError(), "launch the comparison");
  check_cuda(cudaMemcpyAsync(&found, on_device, sizeof(found), cudaMemcpyDeviceToHost, stream),
             "read a comparison");
  context_.stream.synchronize();
  comparison.mismatches = static_cast<std::int64_t>(found.mismatches);
  comparison.max_ulp = found.max_ulp;
  if (found.mismatches != 0) {
    comparison.first_mismatch = static_cast<std::int64_t>(found.first_mismatch);
  }
  return comparison;
}

std::vector<std::byte> CudaWorkload::output_of(const kernels::Variant& variant) {
  run_poisoned(variant);
  std::vector<std::byte> output(static_cast<std::size_t>(tensor_.output().bytes()));
  check_cuda(
      cudaMemcpy(output.data(), tensor_.output().data(), output.size(), cudaMemcpyDeviceToHost),
      "read an output");
  return output;
}

void CudaWorkload::enqueue(const kernels::Variant& variant, record::CacheMode cache, int launches,
                           std::size_t first_set) {
  const kernels::Launch launch = context_.launch();
  for (int i = 0; i < launches; ++i) {
    const std::size_t set = cache == record::CacheMode::kHot
                                ? 0
                                : (first_set + static_cast<std::size_t>(i)) % jobs().size();
    kernels::Job job = jobs()[set];
    job.workspace = workspace_of(variant, set);
    variant.launch(job, launch);
  }
  check_cuda(cudaGetLastError(), "launch the kernel");
}

CudaWorkload::Prepared& CudaWorkload::prepare(const kernels::Variant& variant,
                                              const SampleSpec& spec) {
  reserve_workspace(variant);
  const int mode = spec.launches * 4 + (spec.cache == record::CacheMode::kHot ? 2 : 0) +
                   (spec.launch == record::LaunchMode::kGraph ? 1 : 0);
  const std::pair key{std::string(variant.name), mode};
  if (const auto known = prepared_.find(key); known != prepared_.end()) return known->second;
  Prepared prepared;
  check_cuda(cudaCtxResetPersistingL2Cache(), "reset persisting cache lines");
  enqueue(variant, spec.cache, 1, 0);  // loads the module, fills what is lazy
  context_.stream.synchronize();
  if (spec.launch == record::LaunchMode::kStream) return prepared_[key] = std::move(prepared);
  // Fewer launches than sets: several graphs in turn, or a cold replay would meet its own lines.
  const std::size_t sets = spec.cache == record::CacheMode::kHot ? 1 : jobs().size();
  const auto launches = static_cast<std::size_t>(spec.launches);
  for (std::size_t first = 0; first < sets; first += launches) {
    prepared.graphs.emplace_back(context_.stream,
                                 [&] { enqueue(variant, spec.cache, spec.launches, first); });
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
  return prepared_[key] = std::move(prepared);
}

// Graph samples start behind a busy kernel, so that the graph is enqueued before its start event
// runs. Stream samples do not: the host's launching is part of what they measure.
Sample CudaWorkload::sample(const kernels::Variant& variant, const SampleSpec& spec) {
  Prepared& prepared = prepare(variant, spec);
  cudaStream_t stream = context_.stream.get();
  const int multiprocessors = context_.info.multiprocessors;
  auto* const stamps = static_cast<kernels::cuda::ClockStamp*>(context_.stamps.data());
  std::memset(static_cast<void*>(stamps), 0,
              sizeof(kernels::cuda::ClockStamp) * 2 * static_cast<std::size_t>(multiprocessors));
  if (prepared.busy_ns > 0) kernels::cuda::launch_busy(prepared.busy_ns, stream);
  kernels::cuda::launch_clock_stamp(stamps, multiprocessors, stream);
  check_cuda(cudaEventRecord(context_.start.get(), stream), "record an event");
  if (spec.launch == record::LaunchMode::kGraph) {
    prepared.graphs[prepared.next].launch(context_.stream);
    prepared.next = (prepared.next + 1) % prepared.graphs.size();
  } else {
    enqueue(variant, spec.cache, spec.launches, next_set_);
    next_set_ = (next_set_ + static_cast<std::size_t>(spec.launches)) % jobs().size();
  }
  check_cuda(cudaEventRecord(context_.stop.get(), stream), "record an event");
  kernels::cuda::launch_clock_stamp(stamps + multiprocessors, multiprocessors, stream);
  check_cuda(cudaGetLastError(), "launch a clock stamp");
  context_.stream.synchronize();
  return {seconds_between(context_.start, context_.stop) / spec.launches, stamped_clock()};
}

// Median over the multiprocessors that both stamps reached of cycles over time.
std::optional<double> CudaWorkload::stamped_clock() const {
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

std::unique_ptr<Workload> make_cuda_workload(CudaContext& context, const nf4::Nf4Tensor& tensor,
                                             nf4::OutputType type, UploadPurpose purpose) {
  return std::make_unique<CudaWorkload>(context, tensor, type, purpose);
}

}  // namespace nf4bench::device
