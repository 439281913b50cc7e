#include "bench/verification.hpp"

#include "bench/device_failure.hpp"

#include <fmt/format.h>

#include <algorithm>
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
  if (!comparison.is_exact()) {
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

}  // namespace nf4bench::bench
