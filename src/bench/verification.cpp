#include "bench/verification.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "bench/device_failure.hpp"
#include "nf4/reference.hpp"

namespace nf4bench {

namespace {

std::string mismatch_reason(const Comparison& comparison) {
  return fmt::format(
      "{} of {} elements differ from the reference, the first at {}, by up to {} ulp",
      comparison.mismatches, comparison.compared, comparison.first_mismatch.value_or(-1),
      comparison.max_ulp);
}

}  // namespace

std::vector<std::byte> expected_output(const Nf4Tensor& tensor, OutputType type,
                                       VerifyScope scope) {
  if (scope == VerifyScope::kAll || tensor.elements <= kSampledElements) {
    return reference_dequantize(tensor, type);
  }
  std::vector<std::byte> expected(static_cast<std::size_t>(kSampledElements) * size_in_bytes(type));
  reference_dequantize(tensor, type, 0, kSampledElements, expected);
  return expected;
}

Verdict verify_variant(const RunContext& context, Workload& workload, std::size_t index,
                       std::span<const std::byte> expected) {
  const SelectedVariant& selected = context.variants[index];
  if (std::string reason = workload.unsupported(selected.variant); !reason.empty()) {
    return {Status::kSkipped, std::move(reason), std::nullopt};
  }
  Comparison comparison;
  const std::optional<std::string> failure = device_failure(context, {selected.name, index}, [&] {
    comparison = workload.verify(selected.variant, expected);
  });
  if (failure) return {Status::kFailed, *failure, std::nullopt};
  if (!comparison.is_exact()) return {Status::kFailed, mismatch_reason(comparison), comparison};
  return {Status::kPassed, "", comparison};
}

std::vector<Verdict> verify_variants(const RunContext& context, Workload& workload,
                                     std::span<const std::byte> expected,
                                     std::vector<Verdict> verdicts) {
  for (std::size_t i = 0; i < verdicts.size() && !context.is_interrupted(); ++i) {
    context.progress.advance(static_cast<double>(i) / static_cast<double>(verdicts.size()));
    if (verdicts[i].status != Status::kPassed) continue;
    verdicts[i] = verify_variant(context, workload, i, expected);
  }
  return verdicts;
}

std::vector<Verdict> verdicts_of_loss(std::vector<Verdict> verdicts, const Caller& caller,
                                      const std::string& cause) {
  for (Verdict& verdict : verdicts) {
    if (verdict.status != Status::kPassed) continue;
    verdict.status = Status::kSkipped;
    verdict.reason = fmt::format("not finished: the device was lost to {}", caller.name);
  }
  if (caller.index) verdicts[*caller.index] = {Status::kFailed, cause, std::nullopt};
  return verdicts;
}

}  // namespace nf4bench
