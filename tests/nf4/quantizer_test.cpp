#include "base/sha256.hpp"
#include "nf4/reference.hpp"
#include "nf4/synthetic.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace nf4bench {
namespace {

TEST(DynamicMap, HasTheBytesThatBitsandbytesWrites) {
  const std::vector<float> map = nf4::dynamic_map();
  ASSERT_EQ(map.size(), 256u);
  Sha256 hash;
  hash.update(std::as_bytes(std::span(map)));
  EXPECT_EQ(hash.hex(), "e732639a65f497b4ad684bb166a4467708255edd5207757de8b8f0c7e1fda89c");
}

TEST(DynamicMap, HasTheKnownLandmarks) {
  const std::vector<float> map = nf4::dynamic_map();
  EXPECT_EQ(map[127], 0.0f);
  EXPECT_EQ(map.front(), -0.99296874f);
  EXPECT_EQ(map.back(), 1.0f);
  EXPECT_TRUE(std::ranges::is_sorted(map));
}

TEST(Quantizer, PicksTheNearestCode) {
  for (int i = -1100; i <= 1100; ++i) {
    const float value = static_cast<float>(i) / 1000.0f;
    const int code = nf4::nearest_code(value);
    for (int other = 0; other < nf4::kCodes; ++other) {
      EXPECT_LE(std::fabs(double{value} - double{nf4::codebook_value(code)}),
                std::fabs(double{value} - double{nf4::codebook_value(other)}) + 1e-7)
          << value;
    }
  }
  for (int code = 0; code < nf4::kCodes; ++code)
    EXPECT_EQ(nf4::nearest_code(nf4::codebook_value(code)), code);
  EXPECT_EQ(nf4::nearest_code(std::numeric_limits<float>::quiet_NaN()), 0);
}

TEST(Quantizer, PacksHighNibbleFirst) {
  const float weights[] = {1.0f, -1.0f, 0.5f};  // bitsandbytes gives f0 c7: a pad of code 7
  std::uint8_t packed[2] = {};
  EXPECT_EQ(nf4::quantize_block(weights, packed), 1.0f);
  EXPECT_EQ(packed[0], 0xf0);
  EXPECT_EQ(packed[1], 0xc7);
}

TEST(Quantizer, ABlockOfZerosHasCodesZero) {
  const float weights[4] = {0.0f, -0.0f, 0.0f, 0.0f};
  std::uint8_t packed[2] = {0xff, 0xff};
  EXPECT_EQ(nf4::quantize_block(weights, packed), 0.0f);
  EXPECT_EQ(packed[0], 0x00);
  EXPECT_EQ(packed[1], 0x00);
}

// Every weight is at most half the widest gap of the codebook, 0.152 of the scale, away.
TEST(Quantizer, RoundTripStaysWithinHalfAGap) {
  std::vector<float> weights(64);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    weights[i] = std::sin(static_cast<float>(i) * 1.7f) * 0.3f;
  }
  nf4::Nf4Tensor tensor;
  tensor.shape = {64};
  tensor.elements = 64;
  tensor.absmax_kind = nf4::AbsmaxKind::kPlain;
  tensor.packed.resize(32);
  tensor.absmax = {nf4::quantize_block(weights, tensor.packed.data())};
  const std::vector<std::byte> decoded =
      nf4::reference_dequantize(tensor, nf4::OutputType::kFloat32);
  const auto* values = reinterpret_cast<const float*>(decoded.data());
  for (std::size_t i = 0; i < weights.size(); ++i) {
    EXPECT_LE(std::fabs(values[i] - weights[i]), tensor.absmax[0] * 0.1521f) << i;
  }
}

TEST(Quantizer, NestedScalesStayCloseToTheTrueOnes) {
  std::vector<float> absmax(1000);
  for (std::size_t i = 0; i < absmax.size(); ++i) {
    absmax[i] = 0.05f + 0.02f * std::sin(static_cast<float>(i));
  }
  nf4::Nf4Tensor tensor;
  tensor.elements = 64'000;
  nf4::nest_absmax(absmax, tensor);
  ASSERT_EQ(tensor.nested_absmax.size(), 4u);
  EXPECT_NEAR(tensor.nested_offset, 0.05f, 1e-4f);
  // Neighbours of the dynamic map are at most 0.9 / 64 apart, so half of that is the error.
  for (std::int64_t block = 0; block < 1000; ++block) {
    EXPECT_LE(std::fabs(nf4::block_scale(tensor, block) - absmax[static_cast<std::size_t>(block)]),
              tensor.nested_absmax[static_cast<std::size_t>(block / 256)] * 0.00712f);
  }
}

TEST(Quantizer, ASingleNestedBlockIsItsOwnMean) {
  nf4::Nf4Tensor tensor;
  tensor.elements = 64;
  nf4::nest_absmax({0.25f}, tensor);
  EXPECT_EQ(tensor.nested_offset, 0.25f);
  EXPECT_EQ(tensor.nested_absmax[0], 0.0f);
  EXPECT_EQ(nf4::block_scale(tensor, 0), 0.25f);
}

}  // namespace
}  // namespace nf4bench
