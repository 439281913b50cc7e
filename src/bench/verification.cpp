#include "bench/verification.hpp"

#include "bench/device_failure.hpp"
#include "nf4/reference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace nf4bench::bench {

namespace {

std::string mismatch_reason(const record::Verification& comparison) {
  return fmt::format(
      "{} of {} elements differ from the reference, the first at {}, by up to {} ulp",
      comparison.mismatches, comparison.compared, comparison.first_mismatch.value_or(-1),
      comparison.max_ulp);
}

}  // namespace

std::vector<std::byte> expected_output(const nf4::Nf4Tensor& tensor, nf4::OutputType type,
                                       record::VerifyScope scope) {
  if (scope == record::VerifyScope::kAll || tensor.elements <= record::kSampledElements) {
    return nf4::reference_dequantize(tensor, type);
  }
  std::vector<std::byte> expected(static_cast<std::size_t>(record::kSampledElements) *
                                  nf4::size_in_bytes(type));
  nf4::reference_dequantize(tensor, type, 0, record::kSampledElements, expected);
  return expected;
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
  if (failure) return {record::Status::kFailed, *failure, std::nullopt};
  if (!comparison.is_exact())
    return {record::Status::kFailed, mismatch_reason(comparison), comparison};
  return {record::Status::kPassed, "", comparison};
}

std::vector<Verdict> verify_variants(const RunContext& context, device::Workload& workload,
                                     std::span<const std::byte> expected,
                                     std::vector<Verdict> verdicts) {
  for (std::size_t i = 0; i < verdicts.size() && !context.is_interrupted(); ++i) {
    context.progress.advance(static_cast<double>(i) / static_cast<double>(verdicts.size()));
    if (verdicts[i].status != record::Status::kPassed) continue;
    verdicts[i] = verify_variant(context, workload, i, expected);
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
