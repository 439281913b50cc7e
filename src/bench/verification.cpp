#include "bench/verification.hpp"

#include "bench/fault.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

namespace nf4bench::bench {

std::vector<std::byte> expected_output(const operation::Operation& operation,
                                       const operation::WorkContent& content,
                                       const kernels::Problem& problem, record::VerifyScope scope) {
  return operation.reference(content.tensor, problem, content.input, record::most_compared(scope));
}

std::unique_ptr<device::Workload> upload(const RunContext& context,
                                         const operation::WorkContent& content,
                                         const kernels::Problem& problem,
                                         device::UploadPurpose purpose) {
  const Caller caller{"the upload of " + content.tensor.name};
  const Watchdog::Watch watch(context.watchdog, caller);
  return context.device.upload(make_work(context.operation, content, problem), purpose);
}

namespace {

// Looks at the output in which `comparison` found something wrong, as far as that can be done.
void explain(const RunContext& context, const Trial& trial, const Caller& caller,
             record::Verification& comparison) {
  if (!context.operation.explain || trial.weight == nullptr) return;
  std::vector<std::byte> actual;
  const auto failure =
      device_failure(context, caller, [&] { actual = trial.workload.verified_output(); });
  if (failure) return;
  comparison.first_wrong =
      context.operation.explain(*trial.weight, trial.problem, trial.expected, actual, comparison);
}

}  // namespace

Verdict verify_variant(const RunContext& context, const Trial& trial, std::size_t index) {
  const plan::SelectedVariant& selected = context.variants[index];
  if (std::string reason = trial.workload.unsupported(selected.variant); !reason.empty()) {
    return {record::Status::kSkipped, std::move(reason), std::nullopt};
  }
  record::Verification comparison;
  const Caller caller = {selected.name, index};
  const std::optional<std::string> failure = device_failure(context, caller, [&] {
    comparison = trial.workload.verify(selected.variant, trial.expected);
  });
  const std::string peer = selected.variant.traits.peer;
  if (!peer.empty()) context.threads.note_new(peer);
  if (failure) return {record::Status::kFailed, *failure, std::nullopt};
  if (!comparison.passed()) {
    explain(context, trial, caller, comparison);
    return {record::Status::kFailed, context.operation.describe_fault(comparison), comparison};
  }
  return {record::Status::kPassed, "", comparison};
}

void update(Verdict& known, Verdict found) {
  const bool is_inexact = known.comparison && known.comparison->accuracy && found.comparison &&
                          found.comparison->accuracy;
  if (is_inexact) {
    found.comparison->accuracy->weights =
        std::max(known.comparison->accuracy->weights, found.comparison->accuracy->weights);
  }
  known = std::move(found);
}

std::vector<Verdict> verify_variants(const RunContext& context, const Trial& trial,
                                     std::vector<Verdict> verdicts) {
  for (std::size_t i = 0; i < verdicts.size() && !context.is_interrupted(); ++i) {
    context.progress.advance(static_cast<double>(i) / static_cast<double>(verdicts.size()));
    if (verdicts[i].status != record::Status::kPassed) continue;
    update(verdicts[i], verify_variant(context, trial, i));
  }
  return verdicts;
}

std::vector<Verdict> verdicts_of_loss(std::vector<Verdict> verdicts, const Caller& caller,
                                      const std::string& cause) {
  for (Verdict& verdict : verdicts) {
    if (verdict.status != record::Status::kPassed) continue;
    verdict.status = record::Status::kSkipped;
    verdict.reason = fmt::format("not finished: the device was lost to {}", caller.name);
  }
  if (caller.index) verdicts[*caller.index] = {record::Status::kFailed, cause, std::nullopt};
  return verdicts;
}

namespace {

// What steps may take on the host that are made before they are run.
constexpr std::size_t kMostBatched = std::size_t{64} << 20;

// The probes of one problem.
class Prober {
 public:
  Prober(const RunContext& context, const kernels::Problem& problem, std::vector<Verdict> verdicts)
      : context_(context), problem_(problem), verdicts_(std::move(verdicts)) {}

  void run(const operation::Probe& probe, const nf4::Nf4Tensor& weight);
  std::vector<Verdict> verdicts() { return std::move(verdicts_); }

 private:
  bool is_done() const;
  void hold(device::Workload& workload, const nf4::Nf4Tensor& weight,
            const std::vector<operation::ProbeStep>& steps);
  void hold(const Trial& trial, std::size_t index, const operation::ProbeStep& step);

  const RunContext& context_;
  const kernels::Problem& problem_;
  std::vector<Verdict> verdicts_;
};

bool Prober::is_done() const {
  return context_.is_interrupted() || std::ranges::none_of(verdicts_, [](const Verdict& verdict) {
           return verdict.status == record::Status::kPassed;
         });
}

// The steps of `probe` from `first` on, as many as may be held at once.
std::vector<operation::ProbeStep> make_batch(const operation::Probe& probe,
                                             const nf4::Nf4Tensor& weight, std::int64_t first) {
  std::vector<operation::ProbeStep> steps;
  std::size_t bytes = 0;
  for (std::int64_t i = first; i < probe.steps && bytes < kMostBatched; ++i) {
    steps.push_back(probe.make(weight, i));
    bytes += steps.back().input.size() + steps.back().expected.size();
  }
  return steps;
}

void Prober::run(const operation::Probe& probe, const nf4::Nf4Tensor& weight) {
  if (is_done()) return;
  if (probe.change) return run({{}, probe.steps, probe.make}, probe.change(weight));
  std::unique_ptr<device::Workload> workload;
  for (std::int64_t first = 0; first < probe.steps && !is_done();) {
    const std::vector<operation::ProbeStep> steps = make_batch(probe, weight, first);
    if (!workload) {
      workload = upload(context_, {.tensor = weight, .input = steps.front().input}, problem_,
                        device::UploadPurpose::kVerify);
    }
    hold(*workload, weight, steps);
    workload->forget_references();
    first += static_cast<std::int64_t>(steps.size());
  }
}

// All steps with one variant before the next, so that workspaces change hands seldom.
void Prober::hold(device::Workload& workload, const nf4::Nf4Tensor& weight,
                  const std::vector<operation::ProbeStep>& steps) {
  for (std::size_t i = 0; i < verdicts_.size(); ++i) {
    for (const operation::ProbeStep& step : steps) {
      if (verdicts_[i].status != record::Status::kPassed || context_.is_interrupted()) break;
      hold({workload, &weight, problem_, step.expected}, i, step);
    }
  }
}

void Prober::hold(const Trial& trial, std::size_t index, const operation::ProbeStep& step) {
  operation::replace_input(trial.workload, problem_, step.input);
  Verdict found = verify_variant(context_, trial, index);
  if (found.status == record::Status::kFailed) found.reason = step.name + ": " + found.reason;
  // Of weights that are 0 no single step can tell more.
  const bool is_unseen = found.comparison && found.comparison->accuracy &&
                         found.comparison->accuracy->weights == record::WeightClass::kUnseen;
  if (is_unseen) found.comparison->accuracy->weights = record::WeightClass::kExact;
  update(verdicts_[index], std::move(found));
}

}  // namespace

std::vector<Verdict> probe_variants(const RunContext& context, const nf4::Nf4Tensor& weight,
                                    const kernels::Problem& problem,
                                    std::vector<Verdict> verdicts) {
  if (!context.operation.probes) return verdicts;
  Prober prober(context, problem, std::move(verdicts));
  for (const operation::Probe& probe :
       context.operation.probes(problem, context.options, context.device.info().kind)) {
    prober.run(probe, weight);
  }
  return prober.verdicts();
}

}  // namespace nf4bench::bench
