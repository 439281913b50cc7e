#include "operation/wrong_output.hpp"

#include "device/memory.hpp"
#include "nf4/arithmetic.hpp"
#include "nf4/reference.hpp"
#include "nf4/values.hpp"
#include "operation/judge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <vector>

namespace nf4bench::operation {
namespace {

using record::WrongPattern;

// Wrong elements that an explanation has to fit: so many from the first one on, and as many places
// all over the output, at each of which so many elements are looked at.
constexpr std::int64_t kFirstOnes = 256;
constexpr std::int64_t kSpreadPlaces = 256;
constexpr std::int64_t kAtAPlace = 32;

// Truncated instead of rounded, or rounded once too often.
constexpr std::uint64_t kMostUlpOfRounding = 2;

std::span<const std::byte> value_of(std::span<const std::byte> values, std::int64_t index,
                                    std::size_t size) {
  return values.subspan(static_cast<std::size_t>(index) * size, size);
}

// Wrong elements among `count`, each of which `is_wrong` tells.
std::vector<std::int64_t> wrong_elements(std::int64_t first, std::int64_t count,
                                         const std::function<bool(std::int64_t)>& is_wrong) {
  std::vector<std::int64_t> wrong;
  const auto take = [&](std::int64_t from, std::int64_t most) {
    for (std::int64_t i = from; i < std::min(count, from + most); ++i) {
      if (is_wrong(i)) wrong.push_back(i);
    }
  };
  take(first, kFirstOnes);
  const std::int64_t step = std::max(kAtAPlace, (count - first) / kSpreadPlaces);
  for (std::int64_t at = first + kFirstOnes; at < count; at += step) take(at, kAtAPlace);
  return wrong;
}

// The bits of a value as a number.
std::uint32_t bits_in(std::span<const std::byte> value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, value.data(), value.size());
  return bits;
}

std::uint32_t bits_as(nf4::OutputType type, float value) {
  if (type == nf4::OutputType::kFloat16) return nf4::to_float16_bits(value);
  if (type == nf4::OutputType::kBfloat16) return nf4::to_bfloat16_bits(value);
  return nf4::bits_of(value);
}

std::optional<double> finite(double value) {
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

// An output that is wrong at some elements.
struct Wrong {
  nf4::OutputType type;
  std::span<const std::byte> actual;
  const record::Verification& found;
  std::vector<std::int64_t> elements;

  std::span<const std::byte> at(std::int64_t element) const {
    return value_of(actual, element, nf4::size_in_bytes(type));
  }
  template <typename Holds>
  bool all(Holds holds) const {
    return !elements.empty() && std::ranges::all_of(elements, holds);
  }
};

// What shows without the weight.
WrongPattern pattern_of_output(const Wrong& wrong) {
  const std::int64_t first = wrong.found.first_mismatch.value_or(0);
  const bool is_tail = first > 0 && wrong.found.mismatches == wrong.found.compared - first;
  const auto holds_poison = [&](std::int64_t i) { return device::is_poison(wrong.at(i)); };
  const auto is_zero = [&](std::int64_t i) {
    return nf4::value_at(wrong.type, wrong.actual, i) == 0.0;
  };
  if (wrong.all(holds_poison)) return is_tail ? WrongPattern::kTail : WrongPattern::kNotWritten;
  if (wrong.all(is_zero)) return is_tail ? WrongPattern::kTail : WrongPattern::kAllZero;
  return WrongPattern::kOther;
}

record::FirstWrong first_of(const Wrong& wrong, std::int64_t columns) {
  record::FirstWrong first;
  first.element = wrong.found.first_mismatch.value_or(0);
  first.row = first.element / std::max<std::int64_t>(columns, 1);
  first.column = first.element % std::max<std::int64_t>(columns, 1);
  const std::span<const std::byte> got = wrong.at(first.element);
  first.got_bits = fmt::format("0x{:0{}x}", bits_in(got), 2 * got.size());
  first.got = finite(nf4::value_at(wrong.type, wrong.actual, first.element));
  first.pattern = pattern_of_output(wrong);
  return first;
}

// How a weight might be decoded by mistake.
class Misreading {
 public:
  Misreading(const nf4::Nf4Tensor& weight, nf4::OutputType type)
      : weight_(weight), type_(type), shift_(std::countr_zero(unsigned(weight.blocksize))) {}

  std::int64_t block_of(std::int64_t element) const { return element >> shift_; }

  int nibble(std::int64_t element) const {
    const unsigned pair = weight_.packed[static_cast<std::size_t>(element / 2)];
    return static_cast<int>(element % 2 == 0 ? pair >> 4 : pair & 15u);
  }

  std::uint32_t swapped(std::int64_t element) const {
    return decoded(nibble(element ^ 1), nf4::block_scale(weight_, block_of(element)));
  }

  std::uint32_t with_scale_of(std::int64_t element, std::int64_t block) const {
    const std::int64_t there = std::clamp<std::int64_t>(block, 0, weight_.blocks() - 1);
    return decoded(nibble(element), nf4::block_scale(weight_, there));
  }

  // With the code of the scale, what the map makes of it, or that without the offset.
  enum class Nested { kCode, kMapped, kWithoutOffset };
  std::uint32_t with_part_of_scale(std::int64_t element, Nested part) const {
    const auto block = static_cast<std::size_t>(block_of(element));
    const std::uint8_t code = weight_.absmax_codes[block];
    float scale = code;
    if (part != Nested::kCode) scale = weight_.nested_map[code];
    if (part == Nested::kWithoutOffset) {
      scale = nf4::multiply_flushed(scale, weight_.nested_absmax[block / nf4::kNestedBlocksize]);
    }
    return decoded(nibble(element), scale);
  }

 private:
  std::uint32_t decoded(int code, float scale) const {
    return bits_as(type_, nf4::multiply_flushed(nf4::codebook_value(code), scale));
  }

  const nf4::Nf4Tensor& weight_;
  nf4::OutputType type_;
  int shift_;
};

WrongPattern pattern_of_decoded(const nf4::Nf4Tensor& weight, const Wrong& wrong) {
  const Misreading misread(weight, wrong.type);
  const WrongPattern otherwise =
      wrong.found.max_ulp <= kMostUlpOfRounding ? WrongPattern::kRounding : WrongPattern::kOther;
  const auto got = [&](std::int64_t i) { return bits_in(wrong.at(i)); };
  if (wrong.all([&](std::int64_t i) { return got(i) == misread.swapped(i); })) {
    return WrongPattern::kSwappedNibbles;
  }
  // Of one or two elements a scale fits by accident.
  constexpr std::int64_t kFewestOfScales = 3;
  if (wrong.found.mismatches < kFewestOfScales) return otherwise;
  for (const int step : {-1, 1}) {
    if (wrong.all([&](std::int64_t i) {
          return got(i) == misread.with_scale_of(i, misread.block_of(i) + step);
        })) {
      return WrongPattern::kOffByABlock;
    }
  }
  using Nested = Misreading::Nested;
  for (const Nested part : {Nested::kCode, Nested::kMapped, Nested::kWithoutOffset}) {
    if (weight.is_nested() &&
        wrong.all([&](std::int64_t i) { return got(i) == misread.with_part_of_scale(i, part); })) {
      return WrongPattern::kNestedIgnored;
    }
  }
  return otherwise;
}

// Of kOther nothing is said.
constexpr Word<WrongPattern> kMeanings[] = {
    {WrongPattern::kNotWritten, "what is wrong was not written"},
    {WrongPattern::kAllZero, "all that is wrong is zero"},
    {WrongPattern::kTail, "what comes last is missing"},
    {WrongPattern::kSwappedNibbles, "the two nibbles of a byte are swapped"},
    {WrongPattern::kOffByABlock, "the scale is that of the block before or behind"},
    {WrongPattern::kNestedIgnored, "the scale is not computed from all parts of the nested scales"},
    {WrongPattern::kRounding, "it is rounded in another way"}};

std::string number_words(const std::string& bits, const std::optional<double>& value) {
  const std::string number = value ? fmt::format("{:.6g}", *value) : "not finite";
  return bits.empty() ? number : fmt::format("{} ({})", bits, number);
}

}  // namespace

record::FirstWrong explain_decoded(const nf4::Nf4Tensor& weight, const kernels::Problem& problem,
                                   std::span<const std::byte> expected,
                                   std::span<const std::byte> actual,
                                   const record::Verification& found) {
  const nf4::OutputType type = problem.output_type;
  const std::size_t size = nf4::size_in_bytes(type);
  Wrong wrong = {type, actual, found, {}};
  wrong.elements =
      wrong_elements(found.first_mismatch.value_or(0), found.compared, [&](std::int64_t i) {
        const auto wanted = value_of(expected, i, size);
        const auto got = value_of(actual, i, size);
        return !std::ranges::equal(wanted, got) && !compare_outputs(type, wanted, got).passed();
      });
  record::FirstWrong first = first_of(wrong, problem.inputs);
  if (first.pattern == WrongPattern::kOther) first.pattern = pattern_of_decoded(weight, wrong);
  const Misreading weights(weight, type);
  first.block = weights.block_of(first.element);
  first.nibble = weights.nibble(first.element);
  first.scale = finite(nf4::block_scale(weight, *first.block));
  first.wanted_bits =
      fmt::format("0x{:0{}x}", bits_in(value_of(expected, first.element, size)), 2 * size);
  first.wanted = finite(nf4::value_at(type, expected, first.element));
  return first;
}

record::FirstWrong explain_product(const nf4::Nf4Tensor&, const kernels::Problem& problem,
                                   std::span<const std::byte> expected,
                                   std::span<const std::byte> actual,
                                   const record::Verification& found) {
  const nf4::OutputType type = problem.output_type;
  const std::vector<kernels::ProductBound> bounds = bounds_in(expected);
  Wrong wrong = {type, actual, found, {}};
  wrong.elements =
      wrong_elements(found.first_mismatch.value_or(0), found.compared, [&](std::int64_t i) {
        const auto index = static_cast<std::size_t>(i);
        return !compare_products(type, std::span(bounds).subspan(index, 1),
                                 value_of(actual, i, nf4::size_in_bytes(type)))
                    .passed();
      });
  record::FirstWrong first = first_of(wrong, problem.outputs);
  first.wanted = finite(bounds[static_cast<std::size_t>(first.element)].value);
  return first;
}

std::string describe(const std::optional<record::FirstWrong>& wrong) {
  if (!wrong) return "";
  std::string text = fmt::format("; [{}, {}] is {} and should be {}", wrong->row, wrong->column,
                                 number_words(wrong->got_bits, wrong->got),
                                 number_words(wrong->wanted_bits, wrong->wanted));
  if (wrong->block && wrong->nibble) {
    text += fmt::format(", nibble 0x{:x} of block {}", *wrong->nibble, *wrong->block);
    if (wrong->scale) text += fmt::format(" with the scale {:.6g}", *wrong->scale);
  }
  const std::string pattern = word_of(kMeanings, wrong->pattern);
  return pattern.empty() ? text : text + ": " + pattern;
}

}  // namespace nf4bench::operation
