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

Verdict verify_variant(const RunContext& context, device::Workload& workload, std::size_t index,
                       std::span<const std::byte> expected) {
  const plan::SelectedVariant& selected = context.variants[index];
  if (std::string reason = workload.unsupported(selected.variant); !reason.empty()) {
    return {record::Status::kSkipped, std::move(reason), std::nullopt};
  }
  record::Verification comparison;
  const std::optional<std::string> failure = device_failure(context, {selected.name, index}, [&] {
    comparison = workload.verify(selected.variant, expected);
  });
  const std::string peer = selected.variant.traits.peer;
  if (!peer.empty()) context.threads.note_new(peer);
  if (failure) return {record::Status::kFailed, *failure, std::nullopt};
  if (!comparison.is_exact())
    return {record::Status::kFailed, context.operation.describe_fault(comparison), comparison};
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

std::vector<Verdict> verify_variants(const RunContext& context, device::Workload& workload,
                                     std::span<const std::byte> expected,
                                     std::vector<Verdict> verdicts) {
  for (std::size_t i = 0; i < verdicts.size() && !context.is_interrupted(); ++i) {
    context.progress.advance(static_cast<double>(i) / static_cast<double>(verdicts.size()));
    if (verdicts[i].status != record::Status::kPassed) continue;
    update(verdicts[i], verify_variant(context, workload, i, expected));
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
