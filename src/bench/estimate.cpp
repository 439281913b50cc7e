#include "bench/estimate.hpp"

#include "bench/cell.hpp"
#include "plan/memory_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

namespace nf4bench::bench {
namespace {

// Samples of a variant before those that count, and the fewest of those: they are taken however
// long they last.
constexpr double kCallsAtLeast = 8.0;

// The slowest call that is expected and what comparing costs, in seconds an element and variant.
constexpr double kSlowestCpuCall = 6e-9;
constexpr double kSlowestCudaCall = 2e-11;
constexpr double kSlowestComparison = 2e-8;

constexpr double kSlowestFillBytesPerS = 5e8;  // when buffers are made and poisoned
constexpr double kSlowestCeilings = 10.0;      // seconds; about one is usual

// Guards, alignment and bookkeeping of a set of buffers.
constexpr std::int64_t kSetOverhead = 12 << 10;

bool contains(const std::vector<record::CacheMode>& caches, record::CacheMode mode) {
  return std::find(caches.begin(), caches.end(), mode) != caches.end();
}

std::int64_t output_bytes(const plan::TensorSource& source, nf4::OutputType type) {
  return source.geometry.elements() * static_cast<std::int64_t>(nf4::size_in_bytes(type));
}

// A job of the tensor's size whose buffers are not there: for questions, not for launching.
kernels::Job job_of(const plan::TensorSource& source, nf4::OutputType type) {
  alignas(256) static std::byte nowhere[256];
  kernels::Job job;
  job.packed = reinterpret_cast<const std::uint8_t*>(nowhere);
  if (source.geometry.absmax_kind == nf4::AbsmaxKind::kNested) {
    job.absmax_codes = job.packed;
    job.nested_absmax = reinterpret_cast<const float*>(nowhere);
    job.nested_map = job.nested_absmax;
  } else {
    job.absmax = reinterpret_cast<const float*>(nowhere);
  }
  job.elements = source.geometry.elements();
  job.blocks = nf4::block_count(source.geometry.elements(), source.geometry.blocksize);
  job.block_shift = std::countr_zero(static_cast<unsigned>(source.geometry.blocksize));
  job.output_type = type;
  job.output = nowhere;
  job.workspace = nowhere;
  return job;
}

class Estimator {
 public:
  Estimator(const device::Device& device, const std::vector<plan::SelectedVariant>& variants,
            const record::Settings& options)
      : device_(device), variants_(variants), options_(options) {}

  RunEstimate estimate(const std::vector<plan::PlannedTensor>& tensors, bool ceilings);

 private:
  void add_tensor(const plan::PlannedTensor& planned);
  void add_type(const plan::TensorSource& source, nf4::OutputType type);
  void add_cell(const kernels::Job& job, record::LaunchMode launch);
  void add_verification(const plan::TensorSource& source);
  std::string obstacle(const kernels::Variant& variant, const kernels::Job& job,
                       record::LaunchMode launch) const;
  bool is_cpu() const { return device_.info().kind == record::DeviceKind::kCpu; }
  bool is_cold() const { return contains(options_.caches, record::CacheMode::kCold); }

  const device::Device& device_;
  const std::vector<plan::SelectedVariant>& variants_;
  const record::Settings& options_;
  RunEstimate result_;
};

RunEstimate Estimator::estimate(const std::vector<plan::PlannedTensor>& tensors, bool ceilings) {
  for (const plan::PlannedTensor& planned : tensors) add_tensor(planned);
  if (ceilings) result_.most_s += kSlowestCeilings;
  return std::move(result_);
}

void Estimator::add_tensor(const plan::PlannedTensor& planned) {
  const std::vector<nf4::OutputType> own = {planned.source.dtype};
  for (const nf4::OutputType type : options_.output_types.empty() ? own : options_.output_types) {
    add_type(planned.source, type);
    if (options_.verify != record::VerifyScope::kAll) continue;
    for (const plan::TensorSource& other : planned.verify_also) add_verification(other);
  }
}

void Estimator::add_type(const plan::TensorSource& source, nf4::OutputType type) {
  const kernels::Job job = job_of(source, type);
  std::int64_t workspace = 0;
  for (const plan::SelectedVariant& each : variants_) {
    workspace = std::max(workspace, static_cast<std::int64_t>(each.variant.workspace_bytes(job)));
  }
  const std::int64_t on_device = buffer_bytes(device_, source, type, is_cold()) + workspace;
  // The tensor as loaded, the reference's output, and a copy of the output to compare it with.
  const std::int64_t on_host = plan::input_bytes(source) + 2 * output_bytes(source, type);
  result_.device_bytes = std::max(result_.device_bytes, on_device);
  result_.host_bytes = std::max(result_.host_bytes, on_host + (is_cpu() ? on_device : 0));
  result_.most_s += static_cast<double>(on_device) / kSlowestFillBytesPerS;
  add_verification(source);
  for (std::size_t cache = 0; cache < options_.caches.size(); ++cache) {
    for (const record::LaunchMode launch : options_.launches) add_cell(job, launch);
  }
}

// Each variant is compared before and after it is timed; loading and the reference cost as much as
// one more.
void Estimator::add_verification(const plan::TensorSource& source) {
  ++result_.verifications;
  const auto comparisons = static_cast<double>(2 * variants_.size() + 1);
  result_.most_s +=
      kSlowestComparison * comparisons * static_cast<double>(source.geometry.elements());
}

void Estimator::add_cell(const kernels::Job& job, record::LaunchMode launch) {
  double timed = 0.0;
  for (const plan::SelectedVariant& each : variants_) {
    ++result_.measurements;
    const std::string why = obstacle(each.variant, job, launch);
    if (why.empty()) {
      timed += 1.0;
      continue;
    }
    ++result_.not_measured;
    const std::string line = fmt::format("{}: {}", each.name, why);
    auto& lines = result_.exclusions;
    if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(line);
  }
  if (timed == 0.0) return;
  const auto shapes =
      options_.measure_stream_shapes ? static_cast<double>(device_.stream_shapes().size()) : 0.0;
  const double turns = timed + std::min(shapes, static_cast<double>(kStreamFinalists));
  const double fewest_samples_s =
      std::max(options_.min_samples, static_cast<int>(kFewestForInterval)) * options_.min_sample_s;
  result_.least_s += kWarmUpS + timed * std::min(options_.max_time_s, fewest_samples_s);
  const double call_s =
      static_cast<double>(job.elements) * (is_cpu() ? kSlowestCpuCall : kSlowestCudaCall);
  const double sample_s = std::max(call_s, 2.0 * options_.min_sample_s);
  result_.most_s +=
      2.0 * kWarmUpS + turns * options_.max_time_s + (turns + shapes) * kCallsAtLeast * sample_s;
}

// Why a variant has no time in a cell; empty when it gets one.
std::string Estimator::obstacle(const kernels::Variant& variant, const kernels::Job& job,
                                record::LaunchMode launch) const {
  const char* const reason = variant.unsupported(job, device::facts_of(device_.info()));
  if (reason != nullptr) return reason;
  if (launch == record::LaunchMode::kGraph && !variant.traits.capturable) {
    return "its launches cannot be recorded into a graph";
  }
  return "";
}

}  // namespace

std::int64_t buffer_bytes(const device::Device& device, const plan::TensorSource& source,
                          nf4::OutputType type, bool is_cold) {
  const std::int64_t content = plan::input_bytes(source) + output_bytes(source, type);
  const std::int64_t set = content + kSetOverhead;
  // So many that the last-level cache holds nothing useful of one when its turn comes again.
  const std::int64_t cache = 5 * device.info().l2_bytes;
  return is_cold && content > 0 ? set * (nf4::block_count(cache, content) + 1) : set;
}

RunEstimate estimate_run(const device::Device& device,
                         const std::vector<plan::PlannedTensor>& tensors,
                         const std::vector<plan::SelectedVariant>& variants,
                         const record::Settings& options, bool ceilings) {
  return Estimator(device, variants, options).estimate(tensors, ceilings);
}

}  // namespace nf4bench::bench
