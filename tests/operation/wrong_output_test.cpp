#include "operation/wrong_output.hpp"

#include "device/memory.hpp"
#include "nf4/arithmetic.hpp"
#include "nf4/reference.hpp"
#include "nf4/synthetic.hpp"
#include "nf4/values.hpp"
#include "operation/judge.hpp"
#include "operation/weight.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <vector>

namespace nf4bench {
namespace {

using record::WrongPattern;

constexpr auto kHalf = nf4::OutputType::kFloat16;

nf4::Nf4Tensor weight_of(nf4::AbsmaxKind kind = nf4::AbsmaxKind::kPlain,
                         std::vector<std::int64_t> shape = {32, 96}) {
  return nf4::make_synthetic({.shape = std::move(shape), .absmax_kind = kind});
}

int nibble_of(const nf4::Nf4Tensor& weight, std::int64_t element) {
  const int pair = weight.packed[static_cast<std::size_t>(element / 2)];
  return element % 2 == 0 ? pair >> 4 : pair & 15;
}

// The weight as a kernel decodes it that takes the nibble and the scale that these two say.
std::vector<std::byte> decoded(
    const nf4::Nf4Tensor& weight, const std::function<int(std::int64_t)>& nibble,
    const std::function<float(std::int64_t)>& scale,
    const std::function<std::uint16_t(float)>& rounded = nf4::to_float16_bits) {
  std::vector<std::uint16_t> bits;
  for (std::int64_t i = 0; i < weight.elements; ++i) {
    bits.push_back(rounded(nf4::codebook_value(nibble(i)) * scale(i)));
  }
  const auto bytes = std::as_bytes(std::span(bits));
  return {bytes.begin(), bytes.end()};
}

float scale_at(const nf4::Nf4Tensor& weight, std::int64_t element) {
  return nf4::block_scale(weight, element / weight.blocksize);
}

record::FirstWrong explained(const nf4::Nf4Tensor& weight, const std::vector<std::byte>& actual) {
  const std::vector<std::byte> expected = nf4::reference_dequantize(weight, kHalf);
  const record::Verification found = operation::compare_outputs(kHalf, expected, actual);
  EXPECT_FALSE(found.passed());
  return operation::explain_decoded(weight, operation::problem_of(weight, kHalf), expected, actual,
                                    found);
}

TEST(WrongOutput, SaysWhereItIsWhatItIsMadeOfAndWhatStandsThere) {
  const nf4::Nf4Tensor weight = weight_of();
  std::vector<std::byte> actual = nf4::reference_dequantize(weight, kHalf);
  const std::int64_t element = 3 * 96 + 41;
  const std::uint16_t two = 0x4000;
  std::memcpy(actual.data() + 2 * element, &two, sizeof(two));
  const record::FirstWrong wrong = explained(weight, actual);
  EXPECT_EQ(wrong.element, element);
  EXPECT_EQ(wrong.row, 3);
  EXPECT_EQ(wrong.column, 41);
  EXPECT_EQ(wrong.block, element / 64);
  EXPECT_EQ(wrong.nibble, nibble_of(weight, element));
  EXPECT_EQ(wrong.scale, double{scale_at(weight, element)});
  EXPECT_EQ(wrong.got_bits, "0x4000");
  EXPECT_EQ(wrong.got, 2.0);
  EXPECT_EQ(wrong.wanted, nf4::value_at(kHalf, nf4::reference_dequantize(weight, kHalf), element));
  EXPECT_EQ(wrong.pattern, WrongPattern::kOther);
  EXPECT_NE(operation::describe(wrong).find("[3, 41] is 0x4000 (2) and should be 0x"),
            std::string::npos)
      << operation::describe(wrong);
}

TEST(WrongOutput, KnowsSwappedNibbles) {
  const nf4::Nf4Tensor weight = weight_of();
  const auto actual = decoded(
      weight, [&](std::int64_t i) { return nibble_of(weight, i ^ 1); },
      [&](std::int64_t i) { return scale_at(weight, i); });
  EXPECT_EQ(explained(weight, actual).pattern, WrongPattern::kSwappedNibbles);
}

TEST(WrongOutput, KnowsScalesOfTheNextBlockAndOfTheOneBefore) {
  const nf4::Nf4Tensor weight = weight_of();
  for (const int step : {-1, 1}) {
    const auto actual = decoded(
        weight, [&](std::int64_t i) { return nibble_of(weight, i); },
        [&](std::int64_t i) {
          const std::int64_t block = i / 64 + step;
          return nf4::block_scale(weight, std::clamp<std::int64_t>(block, 0, weight.blocks() - 1));
        });
    EXPECT_EQ(explained(weight, actual).pattern, WrongPattern::kOffByABlock) << step;
  }
}

TEST(WrongOutput, NamesNoScaleThatFitsOneOrTwoElements) {
  const nf4::Nf4Tensor weight = weight_of();
  for (const int count : {1, 2, 3}) {
    int left = count;  // of elements that are not zero, whose scale shows
    const auto actual = decoded(
        weight, [&](std::int64_t i) { return nibble_of(weight, i); },
        [&](std::int64_t i) {
          const bool shows =
              i >= 64 && left > 0 && nf4::codebook_value(nibble_of(weight, i)) != 0.0f;
          return nf4::block_scale(weight, i / 64 + (shows && left-- > 0 ? 1 : 0));
        });
    const bool is_named = explained(weight, actual).pattern == WrongPattern::kOffByABlock;
    EXPECT_EQ(is_named, count == 3) << count;
  }
}

TEST(WrongOutput, KnowsNestedScalesWithoutTheirOffset) {
  const nf4::Nf4Tensor weight = weight_of(nf4::AbsmaxKind::kNested);
  ASSERT_NE(weight.nested_offset, 0.0f);
  const auto actual = decoded(
      weight, [&](std::int64_t i) { return nibble_of(weight, i); },
      [&](std::int64_t i) {
        const auto block = static_cast<std::size_t>(i / 64);
        return weight.nested_map[weight.absmax_codes[block]] * weight.nested_absmax[block / 256];
      });
  EXPECT_EQ(explained(weight, actual).pattern, WrongPattern::kNestedIgnored);
}

TEST(WrongOutput, KnowsTruncation) {
  const nf4::Nf4Tensor weight = weight_of();
  const auto actual = decoded(
      weight, [&](std::int64_t i) { return nibble_of(weight, i); },
      [&](std::int64_t i) { return scale_at(weight, i); },
      [](float value) {
        const std::uint16_t nearest = nf4::to_float16_bits(value);
        const bool is_up = std::fabs(nf4::from_float16_bits(nearest)) > std::fabs(value);
        return static_cast<std::uint16_t>(nearest - (is_up ? 1 : 0));
      });
  EXPECT_EQ(explained(weight, actual).pattern, WrongPattern::kRounding);
}

TEST(WrongOutput, TellsNothingWrittenFromAMissingTailAndFromZeros) {
  const nf4::Nf4Tensor weight = weight_of();
  std::vector<std::byte> actual(static_cast<std::size_t>(weight.elements) * 2,
                                std::byte{device::kPoisonByte});
  EXPECT_EQ(explained(weight, actual).pattern, WrongPattern::kNotWritten);
  const std::vector<std::byte> right = nf4::reference_dequantize(weight, kHalf);
  std::copy(right.begin(), right.end() - 6, actual.begin());
  EXPECT_EQ(explained(weight, actual).pattern, WrongPattern::kTail);
  actual.assign(actual.size(), std::byte{0});
  EXPECT_EQ(explained(weight, actual).pattern, WrongPattern::kAllZero);
}

TEST(WrongOutput, APatternHasToHoldFarBehindTheFirstElement) {
  const nf4::Nf4Tensor weight = weight_of(nf4::AbsmaxKind::kPlain, {64, 1024});
  std::vector<std::byte> actual = decoded(
      weight, [&](std::int64_t i) { return nibble_of(weight, i ^ 1); },
      [&](std::int64_t i) { return scale_at(weight, i); });
  ASSERT_EQ(explained(weight, actual).pattern, WrongPattern::kSwappedNibbles);
  std::fill(actual.begin() + 50000, actual.end(), std::byte{0x12});
  EXPECT_EQ(explained(weight, actual).pattern, WrongPattern::kOther);
}

TEST(WrongOutput, OfAProductTellsTokenAndOutput) {
  const kernels::Problem problem = operation::problem_of(weight_of(), kHalf);
  const std::vector<kernels::ProductBound> bounds(2 * 32, kernels::ProductBound{1.0, 0.1f, 0.1f});
  std::vector<double> values(2 * 32, 1.0);
  values[32 + 5] = 7.0;
  const std::vector<std::byte> actual = nf4::to_values(kHalf, values);
  const record::Verification found = operation::compare_products(kHalf, bounds, actual);
  const record::FirstWrong wrong =
      operation::explain_product(weight_of(), problem, operation::bytes_of(bounds), actual, found);
  EXPECT_EQ(wrong.row, 1);
  EXPECT_EQ(wrong.column, 5);
  EXPECT_EQ(wrong.wanted, 1.0);
  EXPECT_EQ(wrong.got, 7.0);
  EXPECT_FALSE(wrong.block);
  EXPECT_EQ(wrong.wanted_bits, "");
}

}  // namespace
}  // namespace nf4bench
