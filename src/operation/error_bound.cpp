#include "operation/error_bound.hpp"

#include "base/error.hpp"
#include "nf4/values.hpp"
#include "operation/wrong_output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

namespace nf4bench::operation {
namespace {

// `value` as float32, never less.
float round_up(double value) {
  constexpr float kLargest = std::numeric_limits<float>::max();
  if (!(value < static_cast<double>(kLargest))) return kLargest;
  const auto nearest = static_cast<float>(value);
  return static_cast<double>(nearest) < value ? std::nextafter(nearest, kLargest) : nearest;
}

// Errors of inputs are like those of weights: each at most so large, and none depends on another.
constexpr double kInherited = 4.0;

record::Accuracy accuracy_of(const kernels::ProductErrors& errors, bool is_exact) {
  if (errors.truth_squares == 0.0) return {.weights = record::WeightClass::kUnseen};
  const auto weights = is_exact ? record::WeightClass::kExact : record::WeightClass::kRounded;
  const double rms = std::sqrt(errors.truth_squares / static_cast<double>(errors.count));
  return {.weights = weights,
          .rms_error = std::sqrt(errors.error_squares / errors.truth_squares),
          .max_error = errors.largest / rms};
}

}  // namespace

std::vector<kernels::ProductBound> bounds_of(const ErrorBound& bound,
                                             std::span<const ProductTruth> truth) {
  const double roundoff = nf4::unit_roundoff(bound.type);
  const double sums = 8.0 * std::sqrt(static_cast<double>(bound.inputs)) * 0x1p-23;
  // Weights are rounded to 16 bits; products of float32 are not.
  const double weights = bound.type == nf4::OutputType::kFloat32 ? 0.0 : 4.0 * roundoff;
  std::vector<kernels::ProductBound> bounds;
  bounds.reserve(truth.size());
  for (const ProductTruth& each : truth) {
    const double own =
        roundoff * std::fabs(each.value) + sums * each.reach + nf4::smallest_step(bound.type);
    const float exact = round_up(own + kInherited * each.inherited_exact);
    const float rounded =
        round_up(own + weights * each.spread + kInherited * each.inherited_rounded);
    const bool may_overflow = each.greatest_sum > std::numeric_limits<float>::max();
    bounds.push_back({each.value, exact, may_overflow ? -rounded : rounded});
  }
  return bounds;
}

std::vector<std::byte> bytes_of(std::span<const kernels::ProductBound> bounds) {
  const auto bytes = std::as_bytes(bounds);
  return {bytes.begin(), bytes.end()};
}

std::vector<kernels::ProductBound> bounds_in(std::span<const std::byte> bytes) {
  static_assert(std::is_trivially_copyable_v<kernels::ProductBound>);
  std::vector<kernels::ProductBound> bounds(bytes.size() / sizeof(kernels::ProductBound));
  if (!bounds.empty()) std::memcpy(bounds.data(), bytes.data(), bytes.size());
  return bounds;
}

record::Verification compare_products(nf4::OutputType type,
                                      std::span<const kernels::ProductBound> bounds,
                                      std::span<const std::byte> actual) {
  if (actual.size() != bounds.size() * nf4::size_in_bytes(type)) {
    throw Error(ErrorKind::kVerification,
                fmt::format("cannot compare {} bytes of {} with {} expected values", actual.size(),
                            to_string(type), bounds.size()));
  }
  const kernels::TypeRange range = kernels::range_of(type);
  kernels::DeviceVerdict verdict;
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    const double got = nf4::value_at(type, actual, static_cast<std::int64_t>(i));
    verdict.errors.add(bounds[i].value, got);
    const kernels::ProductJudgement judgement = judge_product(range, bounds[i], got);
    if (judgement == kernels::ProductJudgement::kExact) continue;
    ++verdict.beyond_exact;
    if (judgement == kernels::ProductJudgement::kRounded) continue;
    ++verdict.mismatches;
    verdict.first_mismatch = std::min<unsigned long long>(verdict.first_mismatch, i);
  }
  return read_product_verdict(verdict, static_cast<std::int64_t>(bounds.size()));
}

record::Verification read_product_verdict(const kernels::DeviceVerdict& verdict,
                                          std::int64_t compared) {
  record::Verification found;
  found.compared = compared;
  found.mismatches = static_cast<std::int64_t>(verdict.mismatches);
  if (found.mismatches > 0) {
    found.first_mismatch = static_cast<std::int64_t>(verdict.first_mismatch);
  }
  found.accuracy = accuracy_of(verdict.errors, verdict.beyond_exact == 0);
  return found;
}

std::string describe_error(const record::Verification& found) {
  const record::Accuracy accuracy = found.accuracy.value_or(record::Accuracy{});
  return fmt::format(
      "{} of {} outputs are further from the truth than any rounding of weights explains, the "
      "first at {}; the greatest error is {:.2g} of the outputs' root mean square{}",
      found.mismatches, found.compared, found.first_mismatch.value_or(-1), accuracy.max_error,
      describe(found.first_wrong));
}

}  // namespace nf4bench::operation
