#include "operation/error_bound.hpp"

#include "base/error.hpp"
#include "nf4/values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace nf4bench::operation {
namespace {

// The smallest step of a type: the distance between its subnormal numbers.
double smallest_step(nf4::OutputType type) {
  return type == nf4::OutputType::kFloat16    ? 0x1p-24
         : type == nf4::OutputType::kBfloat16 ? 0x1p-133
                                              : 0x1p-149;
}

// What the outputs of one product may be.
class Budget {
 public:
  explicit Budget(const ErrorBound& bound)
      : roundoff_(nf4::unit_roundoff(bound.type)),
        largest_(nf4::largest(bound.type)),
        step_(smallest_step(bound.type)),
        sums_(8.0 * std::sqrt(static_cast<double>(bound.inputs)) * 0x1p-23),
        // Weights are rounded to 16 bits; products of float32 are not.
        weights_(bound.type == nf4::OutputType::kFloat32 ? 0.0 : 4.0 * roundoff_) {}

  double exact(const ProductTruth& truth) const {
    return roundoff_ * std::fabs(truth.value) + sums_ * truth.reach + step_;
  }
  double rounded(const ProductTruth& truth) const { return exact(truth) + weights_ * truth.spread; }

  // The type cannot hold the truth, or just so: infinity is an answer.
  bool may_overflow(const ProductTruth& truth) const {
    return std::fabs(truth.value) + rounded(truth) > largest_;
  }
  bool must_overflow(const ProductTruth& truth) const {
    return std::fabs(truth.value) - rounded(truth) > largest_ * (1.0 + roundoff_);
  }

 private:
  double roundoff_;
  double largest_;
  double step_;
  double sums_;
  double weights_;
};

enum class Judgement { kExact, kRounded, kWrong };

Judgement judge(const Budget& budget, const ProductTruth& truth, double actual) {
  if (!std::isfinite(truth.value)) {
    if (std::isnan(truth.value) ? std::isnan(actual) : truth.value == actual) {
      return Judgement::kExact;
    }
    // A kernel that splits a weight in two meets inf - inf where the definition meets inf alone.
    return std::isfinite(actual) ? Judgement::kWrong : Judgement::kRounded;
  }
  if (std::isinf(actual) && budget.may_overflow(truth) &&
      std::signbit(actual) == std::signbit(truth.value)) {
    return Judgement::kExact;
  }
  if (!std::isfinite(actual) || budget.must_overflow(truth)) return Judgement::kWrong;
  const double error = std::fabs(actual - truth.value);
  if (error <= budget.exact(truth)) return Judgement::kExact;
  return error <= budget.rounded(truth) ? Judgement::kRounded : Judgement::kWrong;
}

// Errors over all outputs whose truth and value are finite.
struct Errors {
  double truth_squares = 0.0;
  double error_squares = 0.0;
  double largest = 0.0;
  std::int64_t count = 0;

  void add(double truth, double actual) {
    if (!std::isfinite(truth) || !std::isfinite(actual)) return;
    const double error = std::fabs(actual - truth);
    truth_squares += truth * truth;
    error_squares += error * error;
    largest = std::max(largest, error);
    ++count;
  }

  record::Accuracy accuracy(record::WeightClass weights) const {
    if (truth_squares == 0.0) return {.weights = weights};
    const double rms = std::sqrt(truth_squares / static_cast<double>(count));
    return {.weights = weights,
            .rms_error = std::sqrt(error_squares / truth_squares),
            .max_error = largest / rms};
  }
};

}  // namespace

record::Verification compare_products(const ErrorBound& bound, std::span<const ProductTruth> truth,
                                      std::span<const std::byte> actual) {
  if (actual.size() != truth.size() * nf4::size_in_bytes(bound.type)) {
    throw Error(ErrorKind::kVerification,
                fmt::format("cannot compare {} bytes of {} with {} expected values", actual.size(),
                            to_string(bound.type), truth.size()));
  }
  const Budget budget(bound);
  record::Verification found;
  found.compared = static_cast<std::int64_t>(truth.size());
  Errors errors;
  auto weights = record::WeightClass::kExact;
  for (std::int64_t i = 0; i < found.compared; ++i) {
    const ProductTruth& wanted = truth[static_cast<std::size_t>(i)];
    const double got = nf4::value_at(bound.type, actual, i);
    errors.add(wanted.value, got);
    const Judgement judgement = judge(budget, wanted, got);
    if (judgement != Judgement::kExact) weights = record::WeightClass::kRounded;
    if (judgement != Judgement::kWrong) continue;
    ++found.mismatches;
    if (!found.first_mismatch) found.first_mismatch = i;
  }
  found.accuracy = errors.accuracy(weights);
  return found;
}

std::string describe_error(const record::Verification& found) {
  const record::Accuracy accuracy = found.accuracy.value_or(record::Accuracy{});
  return fmt::format(
      "{} of {} outputs are further from the truth than any rounding of weights explains, the "
      "first at {}; the greatest error is {:.2g} of the outputs' root mean square",
      found.mismatches, found.compared, found.first_mismatch.value_or(-1), accuracy.max_error);
}

}  // namespace nf4bench::operation
