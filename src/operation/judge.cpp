#include "operation/judge.hpp"

#include "base/error.hpp"
#include "base/parallel.hpp"
#include "nf4/values.hpp"
#include "operation/wrong_output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>
#include <type_traits>

namespace nf4bench::operation {
namespace {

// Elements compared by one memcmp before a difference is looked for one by one.
constexpr std::int64_t kStride = std::int64_t{1} << 14;

// The bit patterns of a floating-point type.
template <typename Bits, Bits kInfinity>
struct Pattern {
  static constexpr Bits kMagnitude = std::numeric_limits<Bits>::max() >> 1;

  static bool is_nan(Bits bits) { return (bits & kMagnitude) > kInfinity; }

  // Integers in the order of the values: neighbours differ by one, -0 stands right below +0.
  static Bits rank(Bits bits) {
    const bool is_negative = bits > kMagnitude;
    return static_cast<Bits>(is_negative ? ~bits : bits | (kMagnitude + 1u));
  }

  static std::uint64_t distance(Bits a, Bits b) {
    if (is_nan(a) && is_nan(b)) return 0;
    if (is_nan(a) || is_nan(b)) return std::numeric_limits<Bits>::max();
    const Bits rank_a = rank(a);
    const Bits rank_b = rank(b);
    return rank_a < rank_b ? rank_b - rank_a : rank_a - rank_b;
  }
};

using Float16Pattern = Pattern<std::uint16_t, 0x7c00>;
using Bfloat16Pattern = Pattern<std::uint16_t, 0x7f80>;
using Float32Pattern = Pattern<std::uint32_t, 0x7f800000>;

// The elements [first, last) of two outputs.
struct Stretch {
  const std::byte* expected = nullptr;  // of element 0
  const std::byte* actual = nullptr;
  std::int64_t first = 0;
  std::int64_t last = 0;
};

template <typename Bits, Bits kInfinity>
void compare_elements(Pattern<Bits, kInfinity> pattern, const Stretch& stretch,
                      record::Verification& found) {
  for (std::int64_t i = stretch.first; i < stretch.last; ++i) {
    const auto offset = static_cast<std::size_t>(i) * sizeof(Bits);
    Bits wanted = 0;
    Bits got = 0;
    std::memcpy(&wanted, stretch.expected + offset, sizeof(Bits));
    std::memcpy(&got, stretch.actual + offset, sizeof(Bits));
    const std::uint64_t distance = wanted == got ? 0 : pattern.distance(wanted, got);
    if (distance == 0) continue;
    ++found.mismatches;
    if (!found.first_mismatch) found.first_mismatch = i;
    found.max_ulp = std::max(found.max_ulp, distance);
  }
}

template <typename Bits, Bits kInfinity>
record::Verification compare_stretch(Pattern<Bits, kInfinity> pattern, const Stretch& all) {
  record::Verification found;
  found.compared = all.last - all.first;
  for (std::int64_t start = all.first; start < all.last; start += kStride) {
    const std::int64_t end = std::min(all.last, start + kStride);
    const auto offset = static_cast<std::size_t>(start) * sizeof(Bits);
    const auto bytes = static_cast<std::size_t>(end - start) * sizeof(Bits);
    if (std::memcmp(all.expected + offset, all.actual + offset, bytes) == 0) continue;
    compare_elements(pattern, {all.expected, all.actual, start, end}, found);
  }
  return found;
}

record::Verification compare_stretch(nf4::OutputType type, const Stretch& stretch) {
  switch (type) {
    case nf4::OutputType::kFloat16:
      return compare_stretch(Float16Pattern{}, stretch);
    case nf4::OutputType::kBfloat16:
      return compare_stretch(Bfloat16Pattern{}, stretch);
    case nf4::OutputType::kFloat32:
      break;
  }
  return compare_stretch(Float32Pattern{}, stretch);
}

void merge(record::Verification& total, const record::Verification& part) {
  total.compared += part.compared;
  total.mismatches += part.mismatches;
  total.max_ulp = std::max(total.max_ulp, part.max_ulp);
  if (!part.first_mismatch) return;
  total.first_mismatch =
      std::min(*part.first_mismatch, total.first_mismatch.value_or(*part.first_mismatch));
}

}  // namespace

record::Verification compare_outputs(nf4::OutputType type, std::span<const std::byte> expected,
                                     std::span<const std::byte> actual) {
  if (expected.size() != actual.size() || expected.size() % nf4::size_in_bytes(type) != 0) {
    throw Error(ErrorKind::kVerification, "cannot compare {} bytes of {} with {} expected ones",
                actual.size(), to_string(type), expected.size());
  }
  const auto elements = static_cast<std::int64_t>(expected.size() / nf4::size_in_bytes(type));
  record::Verification total;
  std::mutex mutex;
  parallel_for(elements, kStride * 16, [&](std::int64_t first, std::int64_t last) {
    const record::Verification part =
        compare_stretch(type, {expected.data(), actual.data(), first, last});
    const std::lock_guard lock(mutex);
    merge(total, part);
  });
  return total;
}

record::Verification read_mismatches(const kernels::DeviceVerdict& verdict, std::int64_t compared) {
  record::Verification found;
  found.compared = compared;
  found.mismatches = static_cast<std::int64_t>(verdict.mismatches);
  found.max_ulp = verdict.max_ulp;
  if (verdict.mismatches != 0) {
    found.first_mismatch = static_cast<std::int64_t>(verdict.first_mismatch);
  }
  return found;
}

std::string describe_mismatch(const record::Verification& found) {
  return fmt::format(
      "{} of {} elements differ from the reference, the first at {}, by up to {} ulp{}",
      found.mismatches, found.compared, found.first_mismatch.value_or(-1), found.max_ulp,
      describe(found.first_wrong));
}

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
    throw Error(ErrorKind::kVerification, "cannot compare {} bytes of {} with {} expected values",
                actual.size(), to_string(type), bounds.size());
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
