#include "nf4/finiteness.hpp"

#include "nf4/reference.hpp"
#include "nf4/synthetic.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace nf4bench {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Three blocks of 64 and a cut one.
nf4::Nf4Tensor plain_tensor() {
  return nf4::make_synthetic(
      {.shape = {200}, .blocksize = 64, .absmax_kind = nf4::AbsmaxKind::kPlain});
}

std::int64_t non_finite_floats(const nf4::Nf4Tensor& tensor) {
  const std::vector<std::byte> output =
      nf4::reference_dequantize(tensor, nf4::OutputType::kFloat32);
  std::int64_t found = 0;
  for (std::size_t at = 0; at < output.size(); at += sizeof(float)) {
    float value = 0.0f;
    std::memcpy(&value, output.data() + at, sizeof(value));
    if (!std::isfinite(value)) ++found;
  }
  return found;
}

TEST(NonFinite, OrdinaryTensorsHaveNone) {
  for (const nf4::OutputType type :
       {nf4::OutputType::kFloat16, nf4::OutputType::kBfloat16, nf4::OutputType::kFloat32}) {
    const nf4::NonFinite found = nf4::count_non_finite(plain_tensor(), type);
    EXPECT_EQ(found.scales, 0);
    EXPECT_EQ(found.outputs, 0);
    EXPECT_EQ(nf4::describe_non_finite(plain_tensor(), type), "");
  }
}

// Infinity times the codebook's zero is NaN, so nothing in such a block is finite.
TEST(NonFinite, EveryOutputOfAnInfiniteOrNanScaleCounts) {
  nf4::Nf4Tensor tensor = plain_tensor();
  tensor.absmax[1] = -kInfinity;
  tensor.absmax[3] = kNan;
  for (const nf4::OutputType type :
       {nf4::OutputType::kFloat16, nf4::OutputType::kBfloat16, nf4::OutputType::kFloat32}) {
    const nf4::NonFinite found = nf4::count_non_finite(tensor, type);
    EXPECT_EQ(found.scales, 2);
    EXPECT_EQ(found.outputs, 64 + 8);
  }
  EXPECT_EQ(non_finite_floats(tensor), 64 + 8);
}

// 65520 is the least float32 that becomes infinite in float16.
TEST(NonFinite, OutputsThatOverflowFloat16CountThereAlone) {
  nf4::Nf4Tensor tensor = plain_tensor();
  std::ranges::fill(tensor.packed, std::uint8_t{0x7f});  // 0.0, 1.0
  tensor.absmax[0] = 65520.0f;
  tensor.absmax[2] = -65519.0f;
  EXPECT_EQ(nf4::count_non_finite(tensor, nf4::OutputType::kFloat16).scales, 0);
  EXPECT_EQ(nf4::count_non_finite(tensor, nf4::OutputType::kFloat16).outputs, 32);
  EXPECT_EQ(nf4::count_non_finite(tensor, nf4::OutputType::kBfloat16).outputs, 0);
  EXPECT_EQ(nf4::count_non_finite(tensor, nf4::OutputType::kFloat32).outputs, 0);
}

TEST(NonFinite, TheGreatestFloatOverflowsBfloat16Alone) {
  nf4::Nf4Tensor tensor = plain_tensor();
  std::ranges::fill(tensor.packed, std::uint8_t{0xff});
  tensor.absmax[3] = std::numeric_limits<float>::max();
  EXPECT_EQ(nf4::count_non_finite(tensor, nf4::OutputType::kBfloat16).outputs, 8);
  EXPECT_EQ(nf4::count_non_finite(tensor, nf4::OutputType::kFloat32).outputs, 0);
}

// The map's value of code 127 is zero, and zero times infinity is NaN.
TEST(NonFinite, AnInfiniteNestedAbsmaxReachesAllItsBlocks) {
  nf4::Nf4Tensor tensor = nf4::make_synthetic({.shape = {300, 64}, .blocksize = 64});
  tensor.nested_absmax[1] = kInfinity;
  tensor.absmax_codes[256] = 127;
  ASSERT_EQ(tensor.nested_map[127], 0.0f);
  const nf4::NonFinite found = nf4::count_non_finite(tensor, nf4::OutputType::kBfloat16);
  EXPECT_EQ(found.scales, 300 - 256);
  EXPECT_EQ(found.outputs, (300 - 256) * 64);
}

TEST(NonFinite, AreDescribedWithTheirShare) {
  nf4::Nf4Tensor tensor = plain_tensor();
  tensor.absmax[3] = kNan;
  EXPECT_EQ(nf4::describe_non_finite(tensor, nf4::OutputType::kFloat16),
            "1 of 4 scales are infinite or NaN, and so are 8 of 200 outputs in float16");
}

}  // namespace
}  // namespace nf4bench
