#include "fuzz/second_decoder.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace nf4bench::fuzz {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

nf4::Nf4Tensor tensor_of(float scale) {
  nf4::Nf4Tensor tensor;
  tensor.shape = {64};
  tensor.elements = 64;
  tensor.absmax_kind = nf4::AbsmaxKind::kPlain;
  tensor.packed.assign(32, 0xf0);
  tensor.absmax = {scale};
  return tensor;
}

double value_of(nf4::OutputType type, std::uint32_t bits) {
  std::byte output[4];
  for (std::size_t i = 0; i < 4; ++i) output[i] = static_cast<std::byte>(bits >> (8 * i));
  return second_value(std::span(output).first(nf4::size_in_bytes(type)), type, 0);
}

TEST(SecondDecoder, TakesTheHighNibbleFirst) {
  EXPECT_EQ(second_decode(tensor_of(2.0f), 0), 2.0f);
  EXPECT_EQ(second_decode(tensor_of(2.0f), 1), -2.0f);
}

TEST(SecondDecoder, AddsTheOffsetToNestedScales) {
  nf4::Nf4Tensor tensor = tensor_of(0.0f);
  tensor.absmax_kind = nf4::AbsmaxKind::kNested;
  tensor.absmax_codes = {3};
  tensor.nested_map.assign(256, 0.0f);
  tensor.nested_map[3] = 0.5f;
  tensor.nested_absmax = {8.0f};
  tensor.nested_offset = 0.25f;
  EXPECT_EQ(second_decode(tensor, 0), 4.25f);
}

TEST(SecondDecoder, FlushesSubnormalProductsButKeepsTheSign) {
  const float least = std::numeric_limits<float>::denorm_min();
  EXPECT_EQ(second_decode(tensor_of(least), 1), 0.0f);
  EXPECT_TRUE(std::signbit(second_decode(tensor_of(least), 1)));
}

TEST(SecondDecoder, RoundsToNearestAndTiesToEven) {
  const auto half = nf4::OutputType::kFloat16;
  EXPECT_EQ(second_round(2049.0f, half), 2048.0);
  EXPECT_EQ(second_round(2051.0f, half), 2052.0);
  EXPECT_EQ(second_round(65519.0f, half), 65504.0);
  EXPECT_EQ(second_round(-65520.0f, half), -kInfinity);
  EXPECT_EQ(second_round(0x1.8p-24f, half), 0x1p-23);
  EXPECT_EQ(second_round(257.0f, nf4::OutputType::kBfloat16), 256.0);
  EXPECT_EQ(second_round(0.1f, nf4::OutputType::kFloat32), 0.1f);
}

TEST(SecondDecoder, ReadsEveryKindOfValue) {
  EXPECT_EQ(value_of(nf4::OutputType::kFloat16, 0x3c00), 1.0);
  EXPECT_EQ(value_of(nf4::OutputType::kFloat16, 0x8001), -0x1p-24);
  EXPECT_EQ(value_of(nf4::OutputType::kFloat16, 0x7bff), 65504.0);
  EXPECT_EQ(value_of(nf4::OutputType::kFloat16, 0xfc00), -kInfinity);
  EXPECT_TRUE(std::isnan(value_of(nf4::OutputType::kFloat16, 0x7fff)));
  EXPECT_EQ(value_of(nf4::OutputType::kBfloat16, 0xc040), -3.0);
  EXPECT_EQ(value_of(nf4::OutputType::kFloat32, 0x3dcccccd), 0.1f);
  EXPECT_TRUE(std::signbit(value_of(nf4::OutputType::kFloat32, 0x80000000)));
}

}  // namespace
}  // namespace nf4bench::fuzz
