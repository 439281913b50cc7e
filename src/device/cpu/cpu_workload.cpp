#include "device/cpu/cpu_workload.hpp"

#include "base/error.hpp"
#include "device/cpu/cpu_buffer.hpp"
#include "device/cpu/cpu_facts.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace nf4bench::device {
namespace {

// Before and behind what a variant may write. A page: vector code that runs over does so by less.
constexpr std::size_t kGuardBytes = 4096;

// A sanitizer sees stray accesses itself if nothing lies where they go.
#if defined(__SANITIZE_ADDRESS__)
constexpr std::size_t kGuardBytesToVerify = 0;
#else
constexpr std::size_t kGuardBytesToVerify = kGuardBytes;
#endif

// The buffers of one set. Inputs of a kind that the tensor lacks stay empty.
struct BufferSet {
  CpuBuffer packed;
  CpuBuffer absmax;
  CpuBuffer absmax_codes;
  CpuBuffer nested_absmax;
  CpuBuffer nested_map;
  CpuBuffer output;
};

// Memory that a set takes besides its content: guards, alignment and bookkeeping. Of a tensor of a
// few elements this is nearly all.
constexpr std::int64_t kSetOverhead = 2 * kGuardBytes +
                                      6 * (static_cast<std::int64_t>(CpuBuffer::kAlignment) + 32) +
                                      sizeof(BufferSet) + sizeof(kernels::Job);

// Sets of tiny tensors stop here, though the largest caches could hold more of them.
constexpr std::int64_t kMostMemoryOfTinySets = std::int64_t{2} << 30;

template <typename T>
CpuBuffer copied(const std::vector<T>& values) {
  if (values.empty()) return {};
  CpuBuffer buffer(values.size() * sizeof(T));
  std::memcpy(buffer.data(), values.data(), buffer.size());
  return buffer;
}

class CpuWorkload final : public Workload {
 public:
  CpuWorkload(const CpuContext& context, const nf4::Nf4Tensor& tensor, nf4::OutputType type,
              UploadPurpose purpose);

  std::string unsupported(const kernels::Variant& variant) const override;
  int buffer_sets() const override { return static_cast<int>(jobs_.size()); }
  std::int64_t bytes_read() const override { return bytes_read_; }
  std::int64_t bytes_written() const override { return bytes_written_; }
  record::Verification verify(const kernels::Variant& variant,
                              std::span<const std::byte> expected) override;
  std::vector<std::byte> output_of(const kernels::Variant& variant) override;
  Sample sample(const kernels::Variant& variant, const SampleSpec& spec) override;

 private:
  std::int64_t fitting_sets(const nf4::Nf4Tensor& tensor, UploadPurpose purpose) const;
  void add_set(const nf4::Nf4Tensor& tensor);
  kernels::Launch launch() const;
  void reserve_workspace(const kernels::Variant& variant);
  const CpuBuffer& workspace_of(const kernels::Variant& variant, std::size_t set) const;
  kernels::Job job_of(const kernels::Variant& variant, std::size_t set) const;
  void prepare(const kernels::Variant& variant, std::size_t set) const;
  void run(const kernels::Variant& variant, std::size_t set) const;
  void run_poisoned(const kernels::Variant& variant);

  CpuContext context_;
  nf4::OutputType type_;
  std::int64_t bytes_read_;
  std::int64_t bytes_written_;
  std::size_t guard_;
  std::vector<BufferSet> sets_;
  std::vector<kernels::Job> jobs_;  // one a set
  CpuBuffer workspace_;             // all sets share it: it is scratch
  std::map<std::string, std::vector<CpuBuffer>>
      prepared_;  // of variants with a prepare(), one a set
  std::size_t next_set_ = 0;
  std::set<std::pair<std::string, record::CacheMode>> warmed_up_;
};

CpuWorkload::CpuWorkload(const CpuContext& context, const nf4::Nf4Tensor& tensor,
                         nf4::OutputType type, UploadPurpose purpose)
    : context_(context),
      type_(type),
      bytes_read_(nf4bench::nf4::bytes_read(tensor)),
      bytes_written_(tensor.elements * static_cast<std::int64_t>(nf4::size_in_bytes(type))),
      guard_(purpose == UploadPurpose::kVerify ? kGuardBytesToVerify : kGuardBytes) {
  const std::int64_t sets = fitting_sets(tensor, purpose);
  sets_.reserve(static_cast<std::size_t>(sets));
  while (std::ssize(sets_) < sets) add_set(tensor);
}

// As many sets as a cold sample needs, within half of the memory that is free. Throws when not even
// one fits.
std::int64_t CpuWorkload::fitting_sets(const nf4::Nf4Tensor& tensor, UploadPurpose purpose) const {
  const std::int64_t bytes = bytes_read_ + bytes_written_;
  const std::int64_t available = available_memory_bytes();
  if (bytes > available) {
    throw Error(ErrorKind::kDevice,
                fmt::format("tensor \"{}\" as {} needs {} bytes on the CPU device, but {} are "
                            "available; choose a smaller tensor or output type",
                            tensor.name, to_string(type_), bytes, available));
  }
  if (purpose != UploadPurpose::kTime) return 1;
  const std::int64_t wanted = nf4::block_count(5 * context_.info.l2_bytes, bytes) + 1;
  const std::int64_t memory =
      std::min(available / 2, std::max(kMostMemoryOfTinySets, 2 * wanted * bytes));
  return std::clamp<std::int64_t>(memory / (bytes + kSetOverhead), 1, wanted);
}

void CpuWorkload::add_set(const nf4::Nf4Tensor& tensor) {
  BufferSet& set = sets_.emplace_back();
  set.packed = copied(tensor.packed);
  set.absmax = copied(tensor.absmax);
  set.absmax_codes = copied(tensor.absmax_codes);
  set.nested_absmax = copied(tensor.nested_absmax);
  set.nested_map = copied(tensor.nested_map);
  set.output = CpuBuffer(static_cast<std::size_t>(bytes_written_), guard_);
  set.output.poison();  // also maps its pages, so that no sample pays for that

  kernels::Job job;
  job.packed = reinterpret_cast<const std::uint8_t*>(set.packed.data());
  job.absmax = reinterpret_cast<const float*>(set.absmax.data());
  job.absmax_codes = reinterpret_cast<const std::uint8_t*>(set.absmax_codes.data());
  job.nested_absmax = reinterpret_cast<const float*>(set.nested_absmax.data());
  job.nested_map = reinterpret_cast<const float*>(set.nested_map.data());
  job.nested_offset = tensor.nested_offset;
  job.elements = tensor.elements;
  job.blocks = tensor.blocks();
  job.block_shift = std::countr_zero(static_cast<unsigned>(tensor.blocksize));
  job.output_type = type_;
  job.output = set.output.data();
  jobs_.push_back(job);
}

std::string CpuWorkload::unsupported(const kernels::Variant& variant) const {
  const char* reason = variant.unsupported(jobs_.front(), facts_of(context_.info));
  return reason == nullptr ? "" : reason;
}

kernels::Launch CpuWorkload::launch() const {
  return {.stream = nullptr,
          .device = facts_of(context_.info),
          .config = context_.config.empty() ? nullptr : context_.config.c_str()};
}

// Makes the workspaces that `variant` needs, and fills them if it prepares them.
void CpuWorkload::reserve_workspace(const kernels::Variant& variant) {
  const std::size_t wanted = variant.workspace_bytes(jobs_.front());
  if (variant.prepare) {
    if (prepared_.contains(variant.name)) return;
    std::vector<CpuBuffer> own;
    while (own.size() < sets_.size()) own.emplace_back(wanted, guard_);
    prepared_.emplace(variant.name, std::move(own));
    try {
      for (std::size_t set = 0; set < sets_.size(); ++set) prepare(variant, set);
    } catch (...) {
      prepared_.erase(variant.name);  // half prepared is not prepared
      throw;
    }
    return;
  }
  const bool is_exact = guard_ == 0;
  if (wanted < workspace_.size() && !is_exact) return;
  if (wanted == workspace_.size()) return;
  workspace_ = wanted == 0 ? CpuBuffer() : CpuBuffer(wanted, guard_);
}

const CpuBuffer& CpuWorkload::workspace_of(const kernels::Variant& variant, std::size_t set) const {
  return variant.prepare ? prepared_.at(variant.name)[set] : workspace_;
}

kernels::Job CpuWorkload::job_of(const kernels::Variant& variant, std::size_t set) const {
  kernels::Job job = jobs_[set];
  job.workspace = workspace_of(variant, set).data();
  return job;
}

void CpuWorkload::prepare(const kernels::Variant& variant, std::size_t set) const {
  omp_set_num_threads(context_.threads);
  variant.prepare(job_of(variant, set), launch());
}

void CpuWorkload::run(const kernels::Variant& variant, std::size_t set) const {
  omp_set_num_threads(context_.threads);  // of this thread: the caller's may change between calls
  variant.launch(job_of(variant, set), launch());
}

void CpuWorkload::run_poisoned(const kernels::Variant& variant) {
  reserve_workspace(variant);
  const CpuBuffer& output = sets_.front().output;
  const CpuBuffer& workspace = workspace_of(variant, 0);
  output.poison();
  workspace.poison();
  if (variant.prepare) prepare(variant, 0);
  run(variant, 0);
  output.check_guards("output", output.size());
  workspace.check_guards("workspace", variant.workspace_bytes(jobs_.front()));
}

record::Verification CpuWorkload::verify(const kernels::Variant& variant,
                                         std::span<const std::byte> expected) {
  run_poisoned(variant);
  const std::span<const std::byte> output = sets_.front().output.span();
  return operation::compare_outputs(type_, expected,
                                    output.first(std::min(expected.size(), output.size())));
}

std::vector<std::byte> CpuWorkload::output_of(const kernels::Variant& variant) {
  run_poisoned(variant);
  const std::span<const std::byte> output = sets_.front().output.span();
  return {output.begin(), output.end()};
}

// A cold sample goes on with the set after the last one that any sample used. A hot sample has one
// untimed call in front of it, since other variants ran on other buffers in between.
Sample CpuWorkload::sample(const kernels::Variant& variant, const SampleSpec& spec) {
  if (spec.launch != record::LaunchMode::kStream || spec.launches < 1) {
    throw Error(ErrorKind::kUsage, "the CPU device times plain calls only; use --launch stream");
  }
  reserve_workspace(variant);
  const bool is_hot = spec.cache == record::CacheMode::kHot;
  const bool is_first = warmed_up_.emplace(variant.name, spec.cache).second;
  const auto take_set = [&] { return is_hot ? 0 : next_set_++ % sets_.size(); };
  if (is_hot || is_first) run(variant, take_set());
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < spec.launches; ++i) run(variant, take_set());
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  Sample sample;
  sample.seconds = elapsed.count() / spec.launches;
  return sample;
}

}  // namespace

std::unique_ptr<Workload> make_cpu_workload(const CpuContext& context, const nf4::Nf4Tensor& tensor,
                                            nf4::OutputType type, UploadPurpose purpose) {
  return std::make_unique<CpuWorkload>(context, tensor, type, purpose);
}

}  // namespace nf4bench::device
