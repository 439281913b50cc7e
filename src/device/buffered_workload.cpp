#include "device/buffered_workload.hpp"

#include "base/error.hpp"
#include "base/kept_thread.hpp"
#include "device/buffer_sets.hpp"
#include "device/output_fault.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <random>
#include <utility>
#include <vector>

namespace nf4bench::device {
namespace {

// What a variant's prepare() made for each job.
struct PreparedJobs {
  GuardedBuffer first;
  Buffer others;
  std::int64_t stride = 0;
  bool is_current = false;  // made of what the inputs hold now

  std::byte* of(std::size_t job) const {
    return job == 0 ? first.data() : others.data() + static_cast<std::int64_t>(job - 1) * stride;
  }
};

// How much of an output is read to see whether it was left alone.
constexpr std::size_t kMostLookedAt = std::size_t{1} << 20;

// Changes that are remembered, to tell outputs of what inputs held before from others.
constexpr std::size_t kMostRemembered = 64;

// How often an output that is wrong is looked at again, to see whether it becomes right.
constexpr int kSecondLooks = 10;

class BufferedWorkload final : public Workload {
 public:
  BufferedWorkload(const WorkloadHost& host, const Work& work, const WorkloadPlan& plan,
                   std::unique_ptr<Executor> executor);

  std::string unsupported(const kernels::Variant& variant) const override;
  int buffer_sets() const override { return static_cast<int>(sets_.sets().size()); }
  void replace_input(std::size_t index, std::span<const std::byte> content) override;
  void change(ContentChange change) override;
  void forget_references() override { executor_->forget_references(); }
  record::Verification verify(const kernels::Variant& variant,
                              std::span<const std::byte> expected) override;
  std::vector<std::byte> verified_output() override {
    return read(sets_.output().data(), static_cast<std::size_t>(sets_.output().bytes()));
  }
  std::vector<std::byte> output_of(const kernels::Variant& variant) override;
  Sample sample(const kernels::Variant& variant, const SampleSpec& spec) override;
  JudgedSample judged_sample(const kernels::Variant& variant, const SampleSpec& spec,
                             const Expected& expected) override;
  void repeat(const kernels::Variant& variant, const SampleSpec& spec, int times) override;
  void profile(const kernels::Variant& variant) override;
  std::optional<OutputFault> check(const kernels::Variant& variant, const SampleSpec& spec,
                                   const Expected& expected) override;

 private:
  void reserve_workspace(const kernels::Variant& variant);
  void reserve_prepared(const kernels::Variant& variant);
  void prepare_jobs(const kernels::Variant& variant);
  kernels::Job job_of(const kernels::Variant& variant, std::size_t index) const;
  kernels::Job job_at(const kernels::Variant& variant, const Turn& turn) const;
  std::vector<kernels::Job> all_jobs(const kernels::Variant& variant) const;
  void prepare(const kernels::Variant& variant, std::size_t index) const;
  void call(const kernels::Variant& variant, const kernels::Job& job) const;
  void run_poisoned(const kernels::Variant& variant);
  Calls calls_of(const kernels::Variant& variant);
  void wait_for_others(const kernels::Variant& variant);
  Taken take(const Calls& calls, const SampleSpec& spec, const Truth* truth);
  void lay_poison(const std::vector<Written>& outputs, const PoisonPattern& pattern);
  bool watches(const kernels::Variant& variant) const;
  bool repair_inputs();
  void require_inputs(const kernels::Variant& variant);
  std::optional<OutputFault> checked(const kernels::Variant& variant, const SampleSpec& spec,
                                     const Expected& expected);
  std::optional<OutputFault> fault_of(const kernels::Variant& variant, const Taken& taken,
                                      const Expected& expected);
  OutputFault look_into(const kernels::Variant& variant, const Written& output, const Truth& truth);
  std::vector<std::byte> read(const std::byte* from, std::size_t bytes);
  bool is_untouched(std::size_t set);

  WorkloadHost host_;
  kernels::Launch launch_;  // the same for all calls; points into host_
  Work work_;
  std::int64_t guard_;
  BufferSets sets_;
  GuardedBuffer workspace_;                       // all sets share it: it is scratch
  std::map<std::string, PreparedJobs> prepared_;  // by the name of the variant
  std::deque<std::vector<ChangedOutputs>> changes_;
  std::unique_ptr<Executor> executor_;
  std::mt19937_64 secret_{std::random_device{}()};  // what a variant must not know in advance
};

BufferedWorkload::BufferedWorkload(const WorkloadHost& host, const Work& work,
                                   const WorkloadPlan& plan, std::unique_ptr<Executor> executor)
    : host_(host),
      launch_{.stream = host_.stream,
              .device = facts_of(host_.info),
              .config = host_.config.empty() ? nullptr : host_.config.c_str()},
      work_(work),
      guard_(plan.guard),
      sets_(host.memory, work, plan.guard),
      executor_(std::move(executor)) {
  work_.inputs.clear();  // uploaded; they may be gone from now on
  if (plan.purpose == UploadPurpose::kTime) {
    sets_.add_for_cold(work, host.caches_rotated * host.info.l2_bytes);
  }
  executor_->run("upload a tensor", [] {});
}

std::string BufferedWorkload::unsupported(const kernels::Variant& variant) const {
  const char* reason = why_unsupported(variant, work_.problem, facts_of(host_.info));
  return reason == nullptr ? "" : reason;
}

// Makes what `variant` needs besides its inputs and output. A workspace that is larger than needed
// is kept, unless stray accesses are to be seen.
void BufferedWorkload::reserve_workspace(const kernels::Variant& variant) {
  if (watches(variant) && !sets_.has_copies()) sets_.keep_copies();
  const std::int64_t wanted = workspace_of(variant, work_.problem, launch_);
  if (wanted > workspace_.bytes() || (guard_ == 0 && wanted != workspace_.bytes())) {
    executor_->forget_addresses();
    workspace_ = {};
    workspace_ = GuardedBuffer(host_.memory, wanted, guard_);
  }
  if (!variant.prepare) return;
  if (!prepared_.contains(variant.name)) reserve_prepared(variant);
  if (!prepared_.at(variant.name).is_current) prepare_jobs(variant);
}

void BufferedWorkload::reserve_prepared(const kernels::Variant& variant) {
  const std::int64_t bytes = prepared_of(variant, work_.problem);
  const auto others = static_cast<std::int64_t>(sets_.jobs().size()) - 1;
  PreparedJobs prepared = {
      .first = GuardedBuffer(host_.memory, bytes, guard_),
      .others = Buffer(host_.memory, others * aligned_bytes(bytes), Access::kWrite),
      .stride = aligned_bytes(bytes)};
  prepared_.emplace(variant.name, std::move(prepared));
}

void BufferedWorkload::prepare_jobs(const kernels::Variant& variant) {
  PreparedJobs& prepared = prepared_.at(variant.name);
  try {
    KeptThread thread;
    executor_->run("launch what comes before the kernel", [&] {
      for (std::size_t job = 0; job < sets_.jobs().size(); ++job) prepare(variant, job);
    });
    thread.require_same_mode();
    host_.memory.evict(prepared.first.data(), prepared.first.bytes());
    host_.memory.evict(prepared.others.data(), prepared.others.bytes());
    prepared.is_current = true;
  } catch (...) {
    prepared_.erase(variant.name);  // half prepared is not prepared
    throw;
  }
}

kernels::Job BufferedWorkload::job_of(const kernels::Variant& variant, std::size_t index) const {
  kernels::Job job = sets_.jobs()[index];
  job.workspace = workspace_.data();
  if (variant.prepare) job.prepared = prepared_.at(variant.name).of(index);
  return job;
}

kernels::Job BufferedWorkload::job_at(const kernels::Variant& variant, const Turn& turn) const {
  kernels::Job job = job_of(variant, turn.job);
  job.output = sets_.sets()[turn.set].output;
  return job;
}

// Of all calls that there are.
std::vector<kernels::Job> BufferedWorkload::all_jobs(const kernels::Variant& variant) const {
  std::vector<kernels::Job> jobs;
  for (std::size_t place = 0; place < places_of(sets_.sets().size()); ++place) {
    jobs.push_back(job_at(variant, turn_at(sets_, place)));
  }
  return jobs;
}

// Nothing is launched for a tensor without elements.
void BufferedWorkload::prepare(const kernels::Variant& variant, std::size_t index) const {
  if (work_.problem.elements > 0) variant.prepare(job_of(variant, index), launch_);
}

void BufferedWorkload::call(const kernels::Variant& variant, const kernels::Job& job) const {
  if (work_.problem.elements > 0) variant.launch(job, launch_);
}

// Of what works in another process, which can write what it is to read: nothing protects inputs of
// a GPU.
bool BufferedWorkload::watches(const kernels::Variant& variant) const {
  return sampler_of(variant) != nullptr && *variant.traits.peer != '\0';
}

// True if somebody has changed them.
bool BufferedWorkload::repair_inputs() {
  if (!sets_.has_copies() || !sets_.repair()) return false;
  for (auto& [name, prepared] : prepared_) prepared.is_current = false;
  return true;
}

void BufferedWorkload::require_inputs(const kernels::Variant& variant) {
  if (!repair_inputs() || !watches(variant)) return;
  throw Error(ErrorKind::kDevice, "wrote into its inputs, which are to be read only");
}

void BufferedWorkload::run_poisoned(const kernels::Variant& variant) {
  repair_inputs();
  reserve_workspace(variant);
  sets_.output().poison();
  workspace_.poison();
  KeptThread thread;
  if (variant.prepare) {
    prepared_.at(variant.name).first.poison();
    executor_->run("launch what comes before the kernel", [&] { prepare(variant, 0); });
  }
  executor_->run("launch the kernel", [&] { call(variant, job_of(variant, 0)); });
  thread.require_same_mode();
  require_inputs(variant);
  sets_.output().check_guards("output", sets_.output().bytes());
  workspace_.check_guards("workspace", workspace_of(variant, work_.problem, launch_));
  if (variant.prepare) {
    prepared_.at(variant.name)
        .first.check_guards("prepared buffer", prepared_of(variant, work_.problem));
  }
}

void BufferedWorkload::replace_input(std::size_t index, std::span<const std::byte> content) {
  sets_.replace_input(index, content);
  executor_->run("upload an input", [] {});
}

void BufferedWorkload::change(ContentChange change) {
  for (const ChangedInput& changed : change.inputs) sets_.overwrite(changed);
  const auto value_bytes = static_cast<std::size_t>(work_.judge.expected_bytes);
  for (const ChangedOutputs& changed : change.outputs) {
    const auto first = static_cast<std::size_t>(changed.first) * value_bytes;
    for (const Content content : {Content::kOwn, Content::kSibling}) {
      const std::size_t bytes = changed.before(content).size();
      if (bytes == 0) continue;
      executor_->refresh_reference(change.expected.of(content).subspan(first, bytes));
    }
  }
  for (auto& [name, prepared] : prepared_) prepared.is_current = false;
  changes_.push_back(std::move(change.outputs));
  if (changes_.size() > kMostRemembered) changes_.pop_front();
  executor_->run("change an input", [] {});
}

record::Verification BufferedWorkload::verify(const kernels::Variant& variant,
                                              std::span<const std::byte> expected) {
  run_poisoned(variant);
  return executor_->judge(work_, expected, sets_.output().data());
}

std::vector<std::byte> BufferedWorkload::output_of(const kernels::Variant& variant) {
  run_poisoned(variant);
  return verified_output();
}

Calls BufferedWorkload::calls_of(const kernels::Variant& variant) {
  reserve_workspace(variant);
  const auto job_in = [this, &variant](const CallRange& range, int call) {
    return job_at(variant, turn_of(sets_, range, static_cast<std::size_t>(call)));
  };
  Calls calls = {.name = variant.name,
                 .sets = sets_.sets().size(),
                 .foreign_lines = work_.foreign_lines,
                 .make =
                     [this, &variant, job_in](const CallRange& range) {
                       for (int i = range.from; i < range.count; ++i) {
                         call(variant, job_in(range, i));
                       }
                     },
                 .written = [this](const CallRange& range) { return written_by(sets_, range); }};
  if (!variant.launch_elsewhere) return calls;
  calls.make_elsewhere = [this, &variant, job_in](const CallRange& range) {
    std::vector<kernels::Job> jobs;
    for (int i = range.from; i < range.count; ++i) jobs.push_back(job_in(range, i));
    return variant.launch_elsewhere(jobs, launch_);
  };
  calls.make = [elsewhere = calls.make_elsewhere](const CallRange& range) { elsewhere(range); };
  calls.sampler = sampler_of(variant);
  if (calls.sampler == nullptr) return calls;
  calls.elsewhere.emplace(CallsElsewhere{.workload = reinterpret_cast<std::uintptr_t>(this),
                                         .launch = launch_,
                                         .sets = calls.sets,
                                         .foreign_lines = calls.foreign_lines,
                                         .jobs = [this, &variant] { return all_jobs(variant); }});
  return calls;
}

// What `variant` left to others gets time to end.
void BufferedWorkload::wait_for_others(const kernels::Variant& variant) {
  if (variant.launch_elsewhere) {
    variant.launch_elsewhere({}, launch_);
  } else {
    executor_->wait_for_others();
  }
}

// The outputs are left with poison strewn over them. That costs little, keeps the state of the
// caches, and makes right results of the past as good as none.
Taken BufferedWorkload::take(const Calls& calls, const SampleSpec& spec, const Truth* truth) {
  KeptThread thread;
  Taken taken = executor_->sample(calls, spec, truth);
  thread.require_same_mode();
  const bool is_right = std::ranges::all_of(taken.found, &record::Verification::passed);
  if (is_right) lay_poison(taken.written, strewn_poison(work_.output_bytes, secret_));
  return taken;
}

void BufferedWorkload::lay_poison(const std::vector<Written>& outputs,
                                  const PoisonPattern& pattern) {
  std::vector<std::byte*> places;
  places.reserve(outputs.size());
  for (const Written& each : outputs) places.push_back(each.output);
  if (work_.output_bytes > 0) host_.memory.lay_poison(places, work_.output_bytes, pattern);
}

Sample BufferedWorkload::sample(const kernels::Variant& variant, const SampleSpec& spec) {
  return take(calls_of(variant), spec, nullptr).sample;
}

JudgedSample BufferedWorkload::judged_sample(const kernels::Variant& variant,
                                             const SampleSpec& spec, const Expected& expected) {
  const Truth truth = {work_, expected};
  const Taken taken = take(calls_of(variant), spec, &truth);
  std::optional<OutputFault> fault = fault_of(variant, taken, expected);
  if (!fault || !repair_inputs()) return {taken.sample, fault};
  // Somebody has changed them since they were looked at last; whoever does so again is known.
  const Taken again = take(calls_of(variant), spec, &truth);
  fault = fault_of(variant, again, expected);
  if (fault) require_inputs(variant);
  return {again.sample, fault};
}

// Leaves all outputs as take() leaves those of a sample.
void BufferedWorkload::repeat(const kernels::Variant& variant, const SampleSpec& spec, int times) {
  KeptThread thread;
  executor_->repeat(calls_of(variant), spec, times);
  thread.require_same_mode();
  std::vector<Written> outputs;
  for (const BufferSet& set : sets_.sets()) outputs.push_back({.output = set.output});
  lay_poison(outputs, strewn_poison(work_.output_bytes, secret_));
}

void BufferedWorkload::profile(const kernels::Variant& variant) {
  executor_->profile(calls_of(variant),
                     {.cache = record::CacheMode::kHot, .launch = record::LaunchMode::kStream});
}

std::optional<OutputFault> BufferedWorkload::check(const kernels::Variant& variant,
                                                   const SampleSpec& spec,
                                                   const Expected& expected) {
  repair_inputs();
  std::optional<OutputFault> fault = checked(variant, spec, expected);
  require_inputs(variant);
  return fault;
}

std::optional<OutputFault> BufferedWorkload::checked(const kernels::Variant& variant,
                                                     const SampleSpec& spec,
                                                     const Expected& expected) {
  const Truth truth = {work_, expected};
  Calls calls = calls_of(variant);
  std::optional<std::size_t> bystander;
  calls.before = [&](const std::vector<Written>& outputs) {
    lay_poison(outputs, {});
    const std::vector<std::size_t> others = others_than(outputs, sets_.sets().size());
    if (others.empty()) return;
    bystander = others[secret_() % others.size()];
    lay_poison({{.output = sets_.sets()[*bystander].output}}, {});
  };
  wait_for_others(variant);  // what is late from earlier samples must not fill in for this one
  std::optional<OutputFault> fault = fault_of(variant, take(calls, spec, &truth), expected);
  if (fault) return fault;
  if (bystander && !is_untouched(*bystander)) {
    return OutputFault{
        .kind = FaultKind::kStray, .set = static_cast<int>(*bystander) + 1, .sets = buffer_sets()};
  }
  calls.before = {};
  calls.again = true;
  fault = fault_of(variant, take(calls, spec, &truth), expected);
  if (fault && fault->kind == FaultKind::kUnwritten) fault->kind = FaultKind::kSkipped;
  if (!fault) sets_.output().check_guards("output", sets_.output().bytes());
  return fault;
}

std::optional<OutputFault> BufferedWorkload::fault_of(const kernels::Variant& variant,
                                                      const Taken& taken,
                                                      const Expected& expected) {
  for (std::size_t i = 0; i < taken.found.size(); ++i) {
    if (taken.found[i].passed()) continue;
    OutputFault fault = look_into(variant, taken.written[i], {work_, expected});
    fault.set = static_cast<int>(taken.written[i].set) + 1;
    fault.sets = buffer_sets();
    fault.found = taken.found[i];
    if (fault.kind == FaultKind::kLate || fault.kind == FaultKind::kStale) {
      fault.elements = fault.found.mismatches;
    }
    return fault;
  }
  return std::nullopt;
}

// Why an output that was wrong at the end of a sample was so.
OutputFault BufferedWorkload::look_into(const kernels::Variant& variant, const Written& output,
                                        const Truth& truth) {
  const std::span<const std::byte> wanted = truth.expected.of(output.content);
  std::vector<std::byte> actual;
  for (int look = 0; look < kSecondLooks; ++look) {
    wait_for_others(variant);
    actual = read(output.output, wanted.size());
    if (work_.judge.on_host(wanted, actual).passed()) return {.kind = FaultKind::kLate};
  }
  if (is_of_earlier_content(truth, output.content, actual, changes_)) {
    return {.kind = FaultKind::kStale};
  }
  return fault_in(truth, output.content, actual);
}

std::vector<std::byte> BufferedWorkload::read(const std::byte* from, std::size_t bytes) {
  std::vector<std::byte> content(std::min(bytes, static_cast<std::size_t>(sets_.output().bytes())));
  if (!content.empty()) host_.memory.copy_out(content, from);
  return content;
}

bool BufferedWorkload::is_untouched(std::size_t set) {
  return is_poison(read(sets_.sets()[set].output, kMostLookedAt));
}

}  // namespace

std::unique_ptr<Workload> make_workload(const WorkloadHost& host, const Work& work,
                                        const WorkloadPlan& plan,
                                        std::unique_ptr<Executor> executor) {
  return std::make_unique<BufferedWorkload>(host, work, plan, std::move(executor));
}

}  // namespace nf4bench::device
