#include "bench/runner.hpp"

#include "bench/cell.hpp"
#include "bench/estimate.hpp"
#include "bench/fault.hpp"
#include "bench/rows.hpp"
#include "bench/run_context.hpp"
#include "bench/verification.hpp"
#include "operation/contents.hpp"
#include "operation/weight.hpp"
#include "plan/problems.hpp"
#include "text/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>

namespace nf4bench::bench {
namespace {

// Rough seconds that verifying costs an element and variant, loading and reference included.
// Progress corrects it as the run goes on.
constexpr double kVerifyCost = 4e-9;

// " 8 tokens" in what the progress tells; empty for operations that have none.
std::string tokens_words(std::int64_t tokens) {
  return tokens > 0 ? fmt::format(" {}", text::format_count(tokens, "token")) : std::string();
}

// The peer of all variants that have one; empty when there are several. What was started when peers
// were loaded is its.
std::string only_peer_of(const std::vector<plan::SelectedVariant>& variants) {
  std::set<std::string> peers;
  for (const plan::SelectedVariant& each : variants) peers.insert(each.variant.traits.peer);
  peers.erase("");
  return peers.size() == 1 ? *peers.begin() : "";
}

class Runner {
 public:
  explicit Runner(const RunContext& context) : context_(context) {}

  RunOutcome run(const std::vector<plan::PlannedTensor>& tensors);

  // Ends the rows of the tensor and type at hand when the device is lost: `cause` is what happened
  // to `caller`. For another thread, too, while this object waits for the device.
  void give_up(const Caller& caller, const std::string& cause);

 private:
  // A problem that a tensor poses, and what is known of each variant on it.
  struct Task {
    kernels::Problem problem;
    std::vector<Verdict> verdicts;
  };

  // What calls of a task take and must give; those on the sibling, where the operation has one.
  struct TaskData {
    std::vector<std::byte> input{};
    std::vector<std::byte> expected{};
    std::optional<nf4::Nf4Tensor> sibling{};
    std::vector<std::byte> sibling_input{};  // empty: `input`
    std::vector<std::byte> expected_of_sibling{};
  };

  // What rows can be made of should the device be lost.
  struct AtHand {
    RowFacts facts;
    std::vector<Verdict> verdicts;
  };

  std::vector<kernels::Problem> problems(const plan::TensorSource& source) const;
  std::vector<record::LaunchMode> launches() const;
  device::UploadPurpose purpose() const;
  double verify_cost(const kernels::Problem& problem) const;
  double verify_cost(const plan::TensorSource& source) const;
  double cell_cost() const;
  void expect_costs(const std::vector<plan::PlannedTensor>& tensors);
  void run_tensor(const plan::PlannedTensor& planned);
  nf4::Nf4Tensor load(const plan::PlannedTensor& planned, const plan::TensorSource& source) const;
  void verify_other(const plan::PlannedTensor& planned, const plan::TensorSource& other,
                    std::vector<Task>& tasks);
  void verify_other_problem(const plan::PlannedTensor& planned, const nf4::Nf4Tensor& tensor,
                            Task& task);
  bool run_task(const plan::PlannedTensor& planned, const nf4::Nf4Tensor& tensor, Task task);
  TaskData data_of(const kernels::Problem& problem, const nf4::Nf4Tensor& tensor) const;
  std::vector<std::byte> sibling_outputs(const kernels::Problem& problem,
                                         const nf4::Nf4Tensor& tensor, const TaskData& data) const;
  std::unique_ptr<device::Workload> upload_to_time(const kernels::Problem& problem,
                                                   const nf4::Nf4Tensor& tensor,
                                                   const TaskData& data) const;
  std::vector<std::function<void()>> changes_of(device::Workload& workload,
                                                const kernels::Problem& problem, TaskData& data);
  std::vector<CellTiming> time_cells(const std::string& what, device::Workload& workload,
                                     const std::vector<Verdict>& verdicts, CellSpec spec);
  CellTiming time_one(const CellSpec& spec, device::Workload& workload,
                      const std::vector<std::size_t>& passed);
  std::vector<Verdict> verify_again(const Trial& trial, const std::vector<CellTiming>& cells,
                                    std::vector<Verdict> verdicts) const;
  std::vector<std::byte> input_of(const kernels::Problem& problem,
                                  operation::Turn turn = operation::Turn::kOwn) const;
  void report(const RowFacts& facts, const std::vector<Verdict>& verdicts,
              const std::vector<CellTiming>& cells);

  const RunContext& context_;
  RunOutcome outcome_;
  std::uint64_t cells_timed_ = 0;
  std::optional<AtHand> at_hand_;
  std::mt19937_64 secret_{std::random_device{}()};  // a variant may know the seed of the run
};

std::vector<kernels::Problem> Runner::problems(const plan::TensorSource& source) const {
  return plan::problems_of(context_.operation, source, context_.options);
}

std::vector<record::LaunchMode> Runner::launches() const {
  if (context_.options.launches.empty()) return {context_.device.launch_modes().front()};
  return context_.options.launches;
}

device::UploadPurpose Runner::purpose() const {
  const std::vector<record::CacheMode>& caches = context_.options.caches;
  const bool is_cold = std::ranges::find(caches, record::CacheMode::kCold) != caches.end();
  return is_cold ? device::UploadPurpose::kTime : device::UploadPurpose::kTimeHot;
}

double Runner::verify_cost(const kernels::Problem& problem) const {
  return kVerifyCost * operation::computed_elements(problem) *
         static_cast<double>(context_.variants.size() + 1);
}

// Of all problems of a tensor.
double Runner::verify_cost(const plan::TensorSource& source) const {
  double cost = 0.0;
  for (const kernels::Problem& problem : problems(source)) cost += verify_cost(problem);
  return cost;
}

double Runner::cell_cost() const {
  return context_.options.max_time_s * static_cast<double>(context_.variants.size());
}

void Runner::expect_costs(const std::vector<plan::PlannedTensor>& tensors) {
  const auto cells = static_cast<double>(context_.options.caches.size() * launches().size());
  for (const plan::PlannedTensor& planned : tensors) {
    const auto tasks = static_cast<double>(problems(planned.source).size());
    context_.progress.expect(Work::kVerify, verify_cost(planned.source));
    context_.progress.expect(Work::kTime, tasks * cells * cell_cost());
    if (context_.options.verify != record::VerifyScope::kAll) continue;
    for (const plan::TensorSource& other : planned.verify_also) {
      context_.progress.expect(Work::kVerify, verify_cost(other));
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

nf4::Nf4Tensor Runner::load(const plan::PlannedTensor& planned,
                            const plan::TensorSource& source) const {
  nf4::Nf4Tensor tensor = source.load();
  if (context_.observer.on_loaded) context_.observer.on_loaded({planned, source, tensor});
  return tensor;
}

// The other tensors of the geometry come first: a variant that is wrong on one of them is not worth
// timing, and at no time are two tensors in memory.
void Runner::run_tensor(const plan::PlannedTensor& planned) {
  std::vector<Task> tasks;
  for (const kernels::Problem& problem : problems(planned.source)) {
    tasks.push_back({problem, std::vector<Verdict>(context_.variants.size())});
  }
  if (context_.options.verify == record::VerifyScope::kAll) {
    for (const plan::TensorSource& other : planned.verify_also) {
      if (context_.is_interrupted()) return;
      verify_other(planned, other, tasks);
    }
  }
  if (context_.is_interrupted()) return;
  const nf4::Nf4Tensor tensor = load(planned, planned.source);
  bool was_compared = false;
  for (Task& task : tasks) {
    if (context_.is_interrupted()) break;
    was_compared |= run_task(planned, tensor, std::move(task));
  }
  if (was_compared) ++outcome_.tensors_verified;
}

// Verifies a tensor that is not timed. What fails on it is failed for the geometry.
void Runner::verify_other(const plan::PlannedTensor& planned, const plan::TensorSource& other,
                          std::vector<Task>& tasks) {
  context_.progress.begin(Work::kVerify, verify_cost(other),
                          fmt::format("{} verify {}", planned.id, other.name));
  const nf4::Nf4Tensor tensor = load(planned, other);
  for (Task& task : tasks) {
    verify_other_problem(planned, tensor, task);
    if (context_.is_interrupted()) return;
  }
  ++outcome_.tensors_verified;
}

void Runner::verify_other_problem(const plan::PlannedTensor& planned, const nf4::Nf4Tensor& tensor,
                                  Task& task) {
  const std::vector<std::byte> input = input_of(task.problem);
  const operation::WorkContent content = {.tensor = tensor, .input = input};
  const std::vector<std::byte> expected =
      expected_output(context_.operation, content, task.problem, record::VerifyScope::kAll);
  const auto workload = upload(context_, content, task.problem, device::UploadPurpose::kVerify);
  std::vector<Verdict>& known = task.verdicts;
  at_hand_ = {facts_of(context_, planned.id, task.problem, workload->buffer_sets()), known};
  std::vector<Verdict> found =
      verify_variants(context_, {*workload, &tensor, task.problem, expected}, known);
  for (std::size_t i = 0; i < found.size(); ++i) {
    const bool was_failed = known[i].status == record::Status::kFailed;
    if (was_failed || found[i].status != record::Status::kFailed) continue;
    known[i] = std::move(found[i]);
    known[i].reason = fmt::format("on {}: {}", tensor.name, known[i].reason);
  }
}

// Returns whether all variants were compared with the reference.
bool Runner::run_task(const plan::PlannedTensor& planned, const nf4::Nf4Tensor& tensor, Task task) {
  const kernels::Problem& problem = task.problem;
  std::vector<Verdict> verdicts = std::move(task.verdicts);
  const std::string what =
      fmt::format("{} {} {}{}", planned.id, nf4::shape_to_string(tensor.shape),
                  to_string(problem.output_type), tokens_words(problem.tokens));
  context_.progress.begin(Work::kVerify, verify_cost(problem), what + " verify");
  // Before anything is uploaded to be timed: not more than one copy of the weight is on the device.
  at_hand_ = {facts_of(context_, planned.id, problem, 1), verdicts};
  verdicts = probe_variants(context_, tensor, problem, std::move(verdicts));
  at_hand_.reset();
  if (context_.is_interrupted()) return false;
  TaskData data = data_of(problem, tensor);
  // Beside the verification, which does not need it.
  std::future<std::vector<std::byte>> of_sibling =
      std::async(std::launch::async, [&] { return sibling_outputs(problem, tensor, data); });
  const auto workload = upload_to_time(problem, tensor, data);
  const RowFacts facts = facts_of(context_, planned.id, problem, workload->buffer_sets());
  at_hand_ = {facts, verdicts};
  verdicts =
      verify_variants(context_, {*workload, &tensor, problem, data.expected}, std::move(verdicts));
  if (context_.is_interrupted()) return false;
  at_hand_->verdicts = verdicts;
  data.expected_of_sibling = of_sibling.get();
  const std::vector<CellTiming> cells =
      time_cells(what, *workload, verdicts,
                 {.expected = {data.expected, data.expected_of_sibling},
                  .changes = changes_of(*workload, problem, data)});
  // What was changed in place meanwhile is no longer what `tensor` says.
  verdicts = verify_again({*workload, nullptr, problem, data.expected}, cells, std::move(verdicts));
  at_hand_.reset();
  report(facts, verdicts, cells);
  return true;
}

Runner::TaskData Runner::data_of(const kernels::Problem& problem,
                                 const nf4::Nf4Tensor& tensor) const {
  TaskData data = {.input = input_of(problem)};
  data.expected = expected_output(context_.operation, {.tensor = tensor, .input = data.input},
                                  problem, context_.options.verify);
  if (context_.operation.sibling) data.sibling = context_.operation.sibling(tensor);
  if (context_.operation.has_routing) {
    data.sibling_input = input_of(problem, operation::Turn::kSibling);
  }
  return data;
}

// The sibling differs from the tensor by signs alone, so its outputs follow from the tensor's.
std::vector<std::byte> Runner::sibling_outputs(const kernels::Problem& problem,
                                               const nf4::Nf4Tensor& tensor,
                                               const TaskData& data) const {
  const operation::Operation& operation = context_.operation;
  if (!data.sibling) return {};
  if (data.sibling_input.empty()) return operation.sibling_reference(problem, data.expected);
  const std::vector<std::byte> mirror =
      operation.mirrored ? operation.mirrored(problem, data.sibling_input) : data.sibling_input;
  return operation.sibling_reference(
      problem, expected_output(operation, {.tensor = tensor, .input = mirror}, problem,
                               context_.options.verify));
}

std::unique_ptr<device::Workload> Runner::upload_to_time(const kernels::Problem& problem,
                                                         const nf4::Nf4Tensor& tensor,
                                                         const TaskData& data) const {
  return upload(
      context_,
      {.tensor = tensor,
       .sibling = data.sibling ? &*data.sibling : nullptr,
       .input = data.input,
       .sibling_input = data.sibling_input,
       .rotates_input = context_.options.cold_activations,
       .touched_bytes = operation::touched_bytes(context_.operation, problem, context_.options),
       .prepared_bytes = prepared_bytes(context_.variants, problem)},
      problem, purpose());
}

// Of weight, input and routing, where there are such. They change `data` as well.
std::vector<std::function<void()>> Runner::changes_of(device::Workload& workload,
                                                      const kernels::Problem& problem,
                                                      TaskData& data) {
  if (!data.sibling) return {};
  const operation::Contents contents = {problem,
                                        *data.sibling,
                                        data.input,
                                        data.expected,
                                        data.expected_of_sibling,
                                        data.sibling_input.empty() ? nullptr : &data.sibling_input};
  std::vector<std::function<void()>> changes;
  const auto add = [&](auto change) {
    changes.push_back([this, &workload, contents, change] {
      workload.change(change(context_.operation, contents, secret_));
    });
  };
  add(operation::change_weight);
  if (!data.input.empty()) add(operation::change_input);
  if (context_.operation.has_routing) add(operation::change_routing);
  return changes;
}

std::vector<std::byte> Runner::input_of(const kernels::Problem& problem,
                                        operation::Turn turn) const {
  return operation::call_input(context_.operation, problem, context_.options, turn);
}

std::vector<CellTiming> Runner::time_cells(const std::string& what, device::Workload& workload,
                                           const std::vector<Verdict>& verdicts, CellSpec spec) {
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
      spec.cache = cache;
      spec.launch = launch;
      spec.seed = context_.options.seed + cells_timed_++;
      cells.push_back(time_one(spec, workload, passed));
    }
  }
  return cells;
}

CellTiming Runner::time_one(const CellSpec& spec, device::Workload& workload,
                            const std::vector<std::size_t>& passed) {
  const std::span<const record::LaunchMode> modes = context_.device.launch_modes();
  if (std::ranges::find(modes, spec.launch) != modes.end()) {
    return time_cell(context_, workload, spec, passed);
  }
  CellTiming timing{.cache = spec.cache, .launch = spec.launch};
  timing.unavailable = fmt::format("the device {} has no {} launches", context_.device.info().id,
                                   to_string(spec.launch));
  return timing;
}

// A kernel may be right once and wrong after a thousand replays.
std::vector<Verdict> Runner::verify_again(const Trial& trial, const std::vector<CellTiming>& cells,
                                          std::vector<Verdict> verdicts) const {
  std::vector<bool> was_timed(verdicts.size());
  for (const CellTiming& cell : cells) {
    for (const Contender& contender : cell.variants) {
      if (!contender.samples_s.empty()) was_timed[contender.index] = true;
    }
  }
  for (std::size_t i = 0; i < verdicts.size(); ++i) {
    if (!was_timed[i]) continue;
    Verdict again = verify_variant(context_, trial, i);
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

double steady_clock_s() {
  const std::chrono::duration<double> since = std::chrono::steady_clock::now().time_since_epoch();
  return since.count();
}

void sleep_s(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

RunOutcome run_benchmark(const RunRequest& request, const record::Ceilings& ceilings,
                         const RunObserver& observer, const std::atomic<bool>& interrupted) {
  const double call_timeout_s = request.options.call_timeout_s;
  Progress progress(request.clocks.clock_s, observer.on_progress);
  device::ThreadWatch threads = request.clocks.threads;
  threads.note_new(only_peer_of(request.variants));
  Runner* waiting = nullptr;  // the runner below, which nothing can hang before it exists
  Watchdog watchdog(call_timeout_s, [&](const Caller& caller) {
    const std::string cause = fmt::format("did not return within {} s", call_timeout_s);
    waiting->give_up(caller, cause);
    if (observer.on_hang) observer.on_hang(fmt::format("{} {}", caller.name, cause));
  });
  const RunContext context{.device = request.device,
                           .operation = request.operation,
                           .variants = request.variants,
                           .ceilings = ceilings,
                           .options = request.options,
                           .observer = observer,
                           .interrupted = interrupted,
                           .clocks = request.clocks,
                           .progress = progress,
                           .watchdog = watchdog,
                           .threads = threads};
  Runner runner(context);
  waiting = &runner;
  return runner.run(request.tensors);
}

}  // namespace nf4bench::bench
