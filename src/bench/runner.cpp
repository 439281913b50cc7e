#include "bench/runner.hpp"

#include "bench/cell.hpp"
#include "bench/device_failure.hpp"
#include "bench/rows.hpp"
#include "bench/run_context.hpp"
#include "bench/verification.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <utility>

namespace nf4bench::bench {
namespace {

// Rough seconds that verifying costs an element and variant, loading and reference included.
// Progress corrects it as the run goes on.
constexpr double kVerifyCost = 4e-9;

double steady_clock_s() {
  const std::chrono::duration<double> since = std::chrono::steady_clock::now().time_since_epoch();
  return since.count();
}

class Runner {
 public:
  explicit Runner(const RunContext& context) : context_(context) {}

  RunOutcome run(const std::vector<plan::PlannedTensor>& tensors);

  // Ends the rows of the tensor and type at hand when the device is lost: `cause` is what happened
  // to `caller`. For another thread, too, while this object waits for the device.
  void give_up(const Caller& caller, const std::string& cause);

 private:
  using Verdicts = std::map<nf4::OutputType, std::vector<Verdict>>;

  // What rows can be made of should the device be lost.
  struct AtHand {
    RowFacts facts;
    std::vector<Verdict> verdicts;
  };

  std::vector<nf4::OutputType> output_types(const plan::PlannedTensor& planned) const;
  std::vector<record::LaunchMode> launches() const;
  device::UploadPurpose purpose() const;
  double verify_cost(const plan::TensorSource& source) const;
  double cell_cost() const;
  void expect_costs(const std::vector<plan::PlannedTensor>& tensors);
  void run_tensor(const plan::PlannedTensor& planned);
  void verify_other(const plan::PlannedTensor& planned, const plan::TensorSource& other,
                    Verdicts& verdicts);
  void run_type(const plan::PlannedTensor& planned, const nf4::Nf4Tensor& tensor,
                nf4::OutputType type, std::vector<Verdict> verdicts);
  std::vector<CellTiming> time_cells(const std::string& what, device::Workload& workload,
                                     const std::vector<Verdict>& verdicts);
  CellTiming time_one(const CellSpec& spec, device::Workload& workload,
                      const std::vector<std::size_t>& passed);
  std::vector<Verdict> verify_again(device::Workload& workload, std::span<const std::byte> expected,
                                    const std::vector<CellTiming>& cells,
                                    std::vector<Verdict> verdicts) const;
  std::unique_ptr<device::Workload> upload(const nf4::Nf4Tensor& tensor, nf4::OutputType type,
                                           device::UploadPurpose purpose);
  void report(const RowFacts& facts, const std::vector<Verdict>& verdicts,
              const std::vector<CellTiming>& cells);

  const RunContext& context_;
  RunOutcome outcome_;
  std::uint64_t cells_timed_ = 0;
  std::optional<AtHand> at_hand_;
};

std::vector<nf4::OutputType> Runner::output_types(const plan::PlannedTensor& planned) const {
  if (context_.options.output_types.empty()) return {planned.source.dtype};
  return context_.options.output_types;
}

std::vector<record::LaunchMode> Runner::launches() const {
  if (context_.options.launches.empty()) return {context_.device.launch_modes().front()};
  return context_.options.launches;
}

device::UploadPurpose Runner::purpose() const {
  const std::vector<record::CacheMode>& caches = context_.options.caches;
  const bool is_cold =
      std::find(caches.begin(), caches.end(), record::CacheMode::kCold) != caches.end();
  return is_cold ? device::UploadPurpose::kTime : device::UploadPurpose::kTimeHot;
}

// Of one output type.
double Runner::verify_cost(const plan::TensorSource& source) const {
  return kVerifyCost * static_cast<double>(source.geometry.elements()) *
         static_cast<double>(context_.variants.size() + 1);
}

double Runner::cell_cost() const {
  return context_.options.max_time_s * static_cast<double>(context_.variants.size());
}

void Runner::expect_costs(const std::vector<plan::PlannedTensor>& tensors) {
  const auto cells = static_cast<double>(context_.options.caches.size() * launches().size());
  for (const plan::PlannedTensor& planned : tensors) {
    const auto types = static_cast<double>(output_types(planned).size());
    context_.progress.expect(Work::kVerify, types * verify_cost(planned.source));
    context_.progress.expect(Work::kTime, types * cells * cell_cost());
    if (context_.options.verify != record::VerifyScope::kAll) continue;
    for (const plan::TensorSource& other : planned.verify_also) {
      context_.progress.expect(Work::kVerify, types * verify_cost(other));
    }
  }
}

RunOutcome Runner::run(const std::vector<plan::PlannedTensor>& tensors) {
  expect_costs(tensors);
  for (const plan::PlannedTensor& planned : tensors) {
    if (context_.is_interrupted()) break;
    try {
      run_tensor(planned);
    } catch (const DeviceLost& lost) {
      give_up(lost.caller(), lost.cause());
      throw;
    }
  }
  outcome_.interrupted = context_.is_interrupted();
  if (!outcome_.interrupted) context_.progress.finish();
  return outcome_;
}

// The other tensors of the geometry come first: a variant that is wrong on one of them is not worth
// timing, and at no time are two tensors in memory.
void Runner::run_tensor(const plan::PlannedTensor& planned) {
  Verdicts verdicts;
  for (const nf4::OutputType type : output_types(planned)) {
    verdicts[type].resize(context_.variants.size());
  }
  if (context_.options.verify == record::VerifyScope::kAll) {
    for (const plan::TensorSource& other : planned.verify_also) {
      if (context_.is_interrupted()) return;
      verify_other(planned, other, verdicts);
    }
  }
  if (context_.is_interrupted()) return;
  const nf4::Nf4Tensor tensor = planned.source.load();
  for (const nf4::OutputType type : output_types(planned)) {
    if (!context_.is_interrupted()) run_type(planned, tensor, type, verdicts[type]);
  }
  if (!context_.is_interrupted()) ++outcome_.tensors_verified;
}

// Verifies a tensor that is not timed. What fails on it is failed for the geometry.
void Runner::verify_other(const plan::PlannedTensor& planned, const plan::TensorSource& other,
                          Verdicts& verdicts) {
  context_.progress.begin(Work::kVerify, verify_cost(other) * static_cast<double>(verdicts.size()),
                          fmt::format("{} verify {}", planned.id, other.name));
  const nf4::Nf4Tensor tensor = other.load();
  for (auto& [type, known] : verdicts) {
    const std::vector<std::byte> expected =
        expected_output(tensor, type, record::VerifyScope::kAll);
    const auto workload = upload(tensor, type, device::UploadPurpose::kVerify);
    at_hand_ = {facts_of(context_, planned.id, type, *workload), known};
    std::vector<Verdict> found = verify_variants(context_, *workload, expected, known);
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (known[i].status == record::Status::kFailed || found[i].status != record::Status::kFailed)
        continue;
      known[i] = std::move(found[i]);
      known[i].reason = fmt::format("on {}: {}", other.name, known[i].reason);
    }
    if (context_.is_interrupted()) return;
  }
  ++outcome_.tensors_verified;
}

void Runner::run_type(const plan::PlannedTensor& planned, const nf4::Nf4Tensor& tensor,
                      nf4::OutputType type, std::vector<Verdict> verdicts) {
  const std::string what =
      fmt::format("{} {} {}", planned.id, nf4::shape_to_string(tensor.shape), to_string(type));
  context_.progress.begin(Work::kVerify, verify_cost(planned.source), what + " verify");
  const std::vector<std::byte> expected = expected_output(tensor, type, context_.options.verify);
  const auto workload = upload(tensor, type, purpose());
  const RowFacts facts = facts_of(context_, planned.id, type, *workload);
  at_hand_ = {facts, verdicts};
  verdicts = verify_variants(context_, *workload, expected, std::move(verdicts));
  if (context_.is_interrupted()) return;
  at_hand_->verdicts = verdicts;
  const std::vector<CellTiming> cells = time_cells(what, *workload, verdicts);
  verdicts = verify_again(*workload, expected, cells, std::move(verdicts));
  at_hand_.reset();
  report(facts, verdicts, cells);
}

std::unique_ptr<device::Workload> Runner::upload(const nf4::Nf4Tensor& tensor, nf4::OutputType type,
                                                 device::UploadPurpose purpose) {
  const Caller caller{"the upload of " + tensor.name};
  const Watchdog::Watch watch(context_.watchdog, caller);
  return context_.device.upload(tensor, type, purpose);
}

std::vector<CellTiming> Runner::time_cells(const std::string& what, device::Workload& workload,
                                           const std::vector<Verdict>& verdicts) {
  std::vector<std::size_t> passed;
  for (std::size_t i = 0; i < verdicts.size(); ++i) {
    if (verdicts[i].status == record::Status::kPassed) passed.push_back(i);
  }
  std::vector<CellTiming> cells;
  for (const record::CacheMode cache : context_.options.caches) {
    for (const record::LaunchMode launch : launches()) {
      if (context_.is_interrupted()) return cells;
      context_.progress.begin(Work::kTime, cell_cost(),
                              fmt::format("{} {} {}", what, to_string(cache), to_string(launch)));
      const CellSpec spec{cache, launch, context_.options.seed + cells_timed_++};
      cells.push_back(time_one(spec, workload, passed));
    }
  }
  return cells;
}

CellTiming Runner::time_one(const CellSpec& spec, device::Workload& workload,
                            const std::vector<std::size_t>& passed) {
  const std::span<const record::LaunchMode> modes = context_.device.launch_modes();
  if (std::find(modes.begin(), modes.end(), spec.launch) != modes.end()) {
    return time_cell(context_, workload, spec, passed);
  }
  CellTiming timing{.cache = spec.cache, .launch = spec.launch};
  timing.unavailable = fmt::format("the device {} has no {} launches", context_.device.info().id,
                                   to_string(spec.launch));
  return timing;
}

// A kernel may be right once and wrong after a thousand replays.
std::vector<Verdict> Runner::verify_again(device::Workload& workload,
                                          std::span<const std::byte> expected,
                                          const std::vector<CellTiming>& cells,
                                          std::vector<Verdict> verdicts) const {
  std::vector<bool> was_timed(verdicts.size());
  for (const CellTiming& cell : cells) {
    for (const Contender& contender : cell.variants) {
      if (!contender.samples_s.empty()) was_timed[contender.index] = true;
    }
  }
  for (std::size_t i = 0; i < verdicts.size(); ++i) {
    if (!was_timed[i]) continue;
    Verdict again = verify_variant(context_, workload, i, expected);
    if (again.status == record::Status::kPassed) continue;
    again.reason = "after timing: " + again.reason;
    verdicts[i] = std::move(again);
  }
  return verdicts;
}

void Runner::give_up(const Caller& caller, const std::string& cause) {
  if (!at_hand_) return;
  std::vector<CellTiming> cells;
  for (const record::CacheMode cache : context_.options.caches) {
    for (const record::LaunchMode launch : launches())
      cells.push_back({.cache = cache, .launch = launch});
  }
  report(at_hand_->facts, verdicts_of_loss(std::move(at_hand_->verdicts), caller, cause), cells);
  at_hand_.reset();
}

void Runner::report(const RowFacts& facts, const std::vector<Verdict>& verdicts,
                    const std::vector<CellTiming>& cells) {
  const RunObserver& observer = context_.observer;
  for (const CellTiming& cell : cells) {
    const std::optional<record::StreamCeiling> ceiling = stream_ceiling(facts, cell);
    if (ceiling && observer.on_stream_ceiling) observer.on_stream_ceiling(*ceiling);
    for (const record::Measurement& row : cell_rows(context_, facts, verdicts, cell)) {
      ++outcome_.measurements;
      if (observer.on_measurement) observer.on_measurement(row);
    }
  }
}

}  // namespace

RunOutcome run_benchmark(device::Device& device, const std::vector<plan::PlannedTensor>& tensors,
                         const std::vector<plan::SelectedVariant>& variants,
                         const record::Ceilings& ceilings, const record::Settings& options,
                         const RunObserver& observer, const std::atomic<bool>& interrupted) {
  const std::function<double()> clock_s = observer.clock_s ? observer.clock_s : steady_clock_s;
  Progress progress(clock_s, observer.on_progress);
  Runner* waiting = nullptr;  // the runner below, which nothing can hang before it exists
  Watchdog watchdog(options.call_timeout_s, [&](const Caller& caller) {
    const std::string cause = fmt::format("did not return within {} s", options.call_timeout_s);
    waiting->give_up(caller, cause);
    if (observer.on_hang) observer.on_hang(fmt::format("{} {}", caller.name, cause));
  });
  const RunContext context{.device = device,
                           .variants = variants,
                           .ceilings = ceilings,
                           .options = options,
                           .observer = observer,
                           .interrupted = interrupted,
                           .clock_s = clock_s,
                           .progress = progress,
                           .watchdog = watchdog};
  Runner runner(context);
  waiting = &runner;
  return runner.run(tensors);
}

}  // namespace nf4bench::bench
