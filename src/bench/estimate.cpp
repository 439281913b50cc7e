#include "bench/estimate.hpp"

#include "bench/cell.hpp"
#include "bench/energy.hpp"
#include "device/devices.hpp"
#include "operation/weight.hpp"
#include "plan/problems.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace nf4bench::bench {
namespace {

// Samples of a variant before those that count, the fewest of those, and those that check it: they
// are taken however long they last.
constexpr double kCallsAtLeast = 10.0;

// The slowest call that is expected and what comparing costs, in seconds an element and variant.
constexpr double kSlowestCpuCall = 6e-9;
constexpr double kSlowestCudaCall = 2e-11;
constexpr double kSlowestComparison = 2e-8;
constexpr double kSlowestVerification = 1e-3;  // seconds, besides the call and the comparison

constexpr double kSlowestFillBytesPerS = 5e8;  // when buffers are made and poisoned
constexpr double kSlowestCeilings = 10.0;      // seconds; about one is usual

// Guards, alignment and bookkeeping of a set of buffers.
constexpr std::int64_t kSetOverhead = 12 << 10;

bool contains(const std::vector<record::CacheMode>& caches, record::CacheMode mode) {
  return std::ranges::find(caches, mode) != caches.end();
}

bool is_cold(const RunRequest& request) {
  return contains(request.options.caches, record::CacheMode::kCold);
}

// What a cold sample touches before a set comes round again.
std::int64_t cold_bytes(const RunRequest& request) {
  return request.options.caches_rotated * request.device.info().l2_bytes;
}

// How much of the buffers of a problem there is once for each set. Activations that stay where they
// are count once.
std::int64_t rotated_bytes(const RunRequest& request, const kernels::Problem& problem) {
  const operation::Traffic traffic = request.operation.traffic(problem);
  const std::int64_t content = traffic.bytes_read + traffic.bytes_written;
  return request.options.cold_activations ? content : content - operation::call_bytes(problem);
}

std::int64_t sets_of(const RunRequest& request, const kernels::Problem& problem) {
  if (!is_cold(request)) return 1;
  const std::int64_t rotated = rotated_bytes(request, problem);
  const std::int64_t touched =
      operation::touched_bytes(request.operation, problem, request.options);
  const std::int64_t wanted =
      device::cold_sets(touched > 0 ? touched : rotated, cold_bytes(request)) - 1;
  return 1 +
         request.device.fitting_sets(wanted, rotated + prepared_bytes(request.variants, problem));
}

// Of the buffers of one problem, in so many sets.
std::int64_t buffer_bytes_of(const RunRequest& request, const kernels::Problem& problem,
                             std::int64_t sets) {
  const operation::Traffic traffic = request.operation.traffic(problem);
  const std::int64_t rotated = rotated_bytes(request, problem);
  return sets * (rotated + kSetOverhead) + traffic.bytes_read + traffic.bytes_written - rotated;
}

class Estimator {
 public:
  explicit Estimator(const RunRequest& request) : request_(request) {}

  RunEstimate estimate();

 private:
  void add_tensor(const plan::PlannedTensor& planned);
  void add_problem(const kernels::Problem& problem);
  void add_cell(const kernels::Problem& problem, record::LaunchMode launch);
  void add_verification(const kernels::Problem& problem);
  void add_probes(const kernels::Problem& problem);
  double call_s(const kernels::Problem& problem) const;
  double times_of(const kernels::Problem& problem, record::LaunchMode launch);
  std::string obstacle(const kernels::Variant& variant, const kernels::Problem& problem,
                       record::LaunchMode launch) const;
  bool is_cpu() const { return request_.device.info().kind == record::DeviceKind::kCpu; }

  const RunRequest& request_;
  RunEstimate result_;
};

RunEstimate Estimator::estimate() {
  for (const plan::PlannedTensor& planned : request_.tensors) add_tensor(planned);
  if (request_.options.measure_stream_shapes) result_.most_s += kSlowestCeilings;
  return std::move(result_);
}

void Estimator::add_tensor(const plan::PlannedTensor& planned) {
  const auto problems_of = [&](const plan::TensorSource& source) {
    return plan::problems_of(request_.operation, source, request_.options);
  };
  for (const kernels::Problem& problem : problems_of(planned.source)) add_problem(problem);
  if (request_.options.verify != record::VerifyScope::kAll) return;
  for (const plan::TensorSource& other : planned.verify_also) {
    for (const kernels::Problem& problem : problems_of(other)) add_verification(problem);
  }
}

void Estimator::add_problem(const kernels::Problem& problem) {
  const kernels::Launch there = {.device = device::facts_of(request_.device.info())};
  std::int64_t workspace = 0;
  for (const plan::SelectedVariant& each : request_.variants) {
    workspace = std::max(workspace, workspace_of(each.variant, problem, there));
  }
  const operation::Traffic traffic = request_.operation.traffic(problem);
  const std::int64_t expected = operation::expected_bytes(
      request_.operation, problem, record::most_compared(request_.options.verify));
  const std::int64_t references = is_cpu() ? 0 : 2 * expected;
  const std::int64_t sets = sets_of(request_, problem);
  const std::int64_t prepared =
      (sets + 1) * prepared_bytes(request_.variants, problem);  // the first set has two
  const std::int64_t on_device =
      buffer_bytes_of(request_, problem, sets) + workspace + references + prepared;
  // The tensor as loaded and its sibling, their references' outputs, and a copy of the output to
  // compare them with.
  const std::int64_t on_host = 2 * traffic.bytes_read + 2 * expected + traffic.bytes_written;
  result_.device_bytes = std::max(result_.device_bytes, on_device);
  result_.host_bytes = std::max(result_.host_bytes, on_host + (is_cpu() ? on_device : 0));
  result_.most_s += static_cast<double>(on_device) / kSlowestFillBytesPerS;
  add_verification(problem);
  add_probes(problem);
  for (std::size_t cache = 0; cache < request_.options.caches.size(); ++cache) {
    for (const record::LaunchMode launch : request_.options.launches) add_cell(problem, launch);
  }
}

// Each variant is compared before and after it is timed; loading and the reference cost as much as
// one more.
void Estimator::add_verification(const kernels::Problem& problem) {
  ++result_.verifications;
  const auto comparisons = static_cast<double>(2 * request_.variants.size() + 1);
  result_.most_s += kSlowestComparison * comparisons * operation::computed_elements(problem);
}

// A step is a call of each variant, and what the host expects of it.
void Estimator::add_probes(const kernels::Problem& problem) {
  const operation::Operation& operation = request_.operation;
  if (!operation.probes) return;
  double steps = 0.0;
  for (const operation::Probe& probe :
       operation.probes(problem, request_.options, request_.device.info().kind)) {
    steps += static_cast<double>(probe.steps);
  }
  const auto variants = static_cast<double>(request_.variants.size());
  const auto outputs = static_cast<double>(operation::output_rows(problem) * problem.outputs);
  result_.most_s += steps * (variants * (call_s(problem) + kSlowestVerification) +
                             (variants + 1.0) * outputs * kSlowestComparison);
}

double Estimator::call_s(const kernels::Problem& problem) const {
  return operation::computed_elements(problem) * (is_cpu() ? kSlowestCpuCall : kSlowestCudaCall);
}

// Counts the rows of a cell; returns how many of them get a time.
double Estimator::times_of(const kernels::Problem& problem, record::LaunchMode launch) {
  double timed = 0.0;
  for (const plan::SelectedVariant& each : request_.variants) {
    ++result_.measurements;
    const std::string why = obstacle(each.variant, problem, launch);
    if (why.empty()) {
      timed += 1.0;
      continue;
    }
    ++result_.not_measured;
    const std::string line = fmt::format("{}: {}", each.name, why);
    auto& lines = result_.exclusions;
    if (std::ranges::find(lines, line) == lines.end()) lines.push_back(line);
  }
  return timed;
}

void Estimator::add_cell(const kernels::Problem& problem, record::LaunchMode launch) {
  const double timed = times_of(problem, launch);
  if (timed == 0.0) return;
  const record::RunOptions& options = request_.options;
  const kernels::Catalog& catalog = request_.operation.catalog(request_.device.info().kind);
  const auto shapes =
      options.measure_stream_shapes ? static_cast<double>(catalog.stream_shapes.size()) : 0.0;
  const double turns = timed + std::min(shapes, static_cast<double>(kStreamFinalists));
  const double fewest_samples_s =
      std::max(options.min_samples, static_cast<int>(statistics::kFewestForInterval)) *
      options.min_sample_s / options.duty;
  result_.least_s += kWarmUpS + timed * std::min(options.max_time_s, fewest_samples_s);
  if (options.measure_energy) {
    result_.least_s += timed * kEnergyBatchS;
    result_.most_s += timed * kMostEnergyBatchS;
  }
  const double sample_s = std::max(call_s(problem), 2.0 * options.min_sample_s) / options.duty;
  result_.most_s +=
      2.0 * kWarmUpS + turns * options.max_time_s + (turns + shapes) * kCallsAtLeast * sample_s;
}

// Why a variant has no time in a cell; empty when it gets one.
std::string Estimator::obstacle(const kernels::Variant& variant, const kernels::Problem& problem,
                                record::LaunchMode launch) const {
  const char* const reason =
      why_unsupported(variant, problem, device::facts_of(request_.device.info()));
  if (reason != nullptr) return reason;
  if (record::is_replayed(launch) && !variant.traits.capturable) {
    return "its launches cannot be recorded into a graph";
  }
  return "";
}

}  // namespace

std::int64_t prepared_bytes(const std::vector<plan::SelectedVariant>& variants,
                            const kernels::Problem& problem) {
  // As float32. A peer that asks for more would leave all others without room for their sets.
  const std::int64_t most = 4 * problem.elements;
  std::int64_t bytes = 0;
  for (const plan::SelectedVariant& each : variants) {
    bytes += std::clamp<std::int64_t>(prepared_of(each.variant, problem), 0, most);
  }
  return bytes;
}

std::int64_t buffer_bytes(const RunRequest& request, const plan::TensorSource& source) {
  std::int64_t most = 0;
  for (const auto& problem : plan::problems_of(request.operation, source, request.options)) {
    most = std::max(most, buffer_bytes_of(request, problem, sets_of(request, problem)));
  }
  return most;
}

RunEstimate operator+(RunEstimate first, const RunEstimate& second) {
  first.measurements += second.measurements;
  first.not_measured += second.not_measured;
  first.verifications += second.verifications;
  first.least_s += second.least_s;
  first.most_s += second.most_s;
  first.device_bytes = std::max(first.device_bytes, second.device_bytes);
  first.host_bytes = std::max(first.host_bytes, second.host_bytes);
  for (const std::string& line : second.exclusions) {
    auto& lines = first.exclusions;
    if (std::ranges::find(lines, line) == lines.end()) lines.push_back(line);
  }
  return first;
}

RunEstimate estimate_run(const RunRequest& request) {
  return Estimator(request).estimate();
}

}  // namespace nf4bench::bench
