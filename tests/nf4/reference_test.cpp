#include "nf4/reference.hpp"

#include "base/error.hpp"
#include "nf4/narrow_oracle.hpp"
#include "nf4/synthetic.hpp"
#include "operation/judge.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace nf4bench {
namespace {

template <typename T>
std::vector<T> values_of(const std::vector<std::byte>& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

// The flush to zero, in terms of numbers instead of bits.
double flushed(double value) {
  return std::fabs(value) < 0x1p-126 ? std::copysign(0.0, value) : value;
}

// A product of two floats is exact in double, so one conversion rounds it as IEEE 754 does. The
// flush comes after, because what rounds up to the smallest normal number is normal.
float product(float a, float b) {
  const auto rounded = static_cast<float>(flushed(a) * flushed(b));
  return static_cast<float>(flushed(rounded));
}

float oracle_weight(const nf4::Nf4Tensor& tensor, std::int64_t index) {
  const auto block = static_cast<std::size_t>(index / tensor.blocksize);
  float scale = 0.0f;
  if (tensor.is_nested()) {
    const float coarse =
        product(tensor.nested_map[tensor.absmax_codes[block]], tensor.nested_absmax[block / 256]);
    // A sum of two floats in double may round before the conversion does, but with 53 >= 2 * 24 + 2
    // bits the two roundings together equal one.
    scale = static_cast<float>(double{coarse} + double{tensor.nested_offset});
  } else {
    scale = tensor.absmax[block];
  }
  const int byte = tensor.packed[static_cast<std::size_t>(index / 2)];
  return product(nf4::codebook_value(index % 2 == 0 ? byte / 16 : byte % 16), scale);
}

std::vector<std::byte> oracle(const nf4::Nf4Tensor& tensor, nf4::OutputType type) {
  const NarrowOracle narrow =
      type == nf4::OutputType::kFloat16 ? NarrowOracle::float16() : NarrowOracle::bfloat16();
  std::vector<std::byte> bytes(static_cast<std::size_t>(tensor.elements) *
                               nf4::size_in_bytes(type));
  for (std::int64_t i = 0; i < tensor.elements; ++i) {
    const float weight = oracle_weight(tensor, i);
    std::byte* const at = bytes.data() + static_cast<std::size_t>(i) * nf4::size_in_bytes(type);
    if (type == nf4::OutputType::kFloat32) {
      std::memcpy(at, &weight, sizeof(weight));
    } else {
      const std::uint16_t bits = std::isnan(weight) ? std::uint16_t{0x7fff} : narrow.round(weight);
      std::memcpy(at, &bits, sizeof(bits));
    }
  }
  return bytes;
}

void expect_oracle(const nf4::SyntheticSpec& spec) {
  const nf4::Nf4Tensor tensor = nf4::make_synthetic(spec);
  for (const nf4::OutputType type : nf4::kOutputTypes) {
    const record::Verification found = operation::compare_outputs(
        type, oracle(tensor, type), nf4::reference_dequantize(tensor, type));
    EXPECT_EQ(found.compared, tensor.elements);
    EXPECT_EQ(found.mismatches, 0)
        << to_string(type) << " " << nf4::shape_to_string(spec.shape) << " blocksize "
        << spec.blocksize << " " << to_string(spec.absmax_kind) << " seed " << spec.seed
        << ", first at " << found.first_mismatch.value_or(-1);
  }
}

TEST(Reference, AgreesWithExactArithmeticOnExtremes) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    for (const nf4::AbsmaxKind kind : {nf4::AbsmaxKind::kPlain, nf4::AbsmaxKind::kNested}) {
      expect_oracle({.shape = {333, 257},
                     .blocksize = 32,
                     .absmax_kind = kind,
                     .distribution = nf4::Distribution::kExtremes,
                     .seed = seed});
    }
  }
}

TEST(Reference, AgreesWithExactArithmeticAtEveryBlocksize) {
  for (int blocksize = nf4::kMinBlocksize; blocksize <= nf4::kMaxBlocksize; blocksize *= 2) {
    for (const nf4::AbsmaxKind kind : {nf4::AbsmaxKind::kPlain, nf4::AbsmaxKind::kNested}) {
      expect_oracle({.shape = {97, 101}, .blocksize = blocksize, .absmax_kind = kind});
    }
  }
}

// Bytes worked out by hand: codes 15, 0, 7 and 14 under the scale 2, high nibble first.
TEST(Reference, DecodesHighNibbleFirst) {
  nf4::Nf4Tensor tensor;
  tensor.shape = {4};
  tensor.elements = 4;
  tensor.absmax_kind = nf4::AbsmaxKind::kPlain;
  tensor.packed = {0xf0, 0x7e};
  tensor.absmax = {2.0f};
  const auto values =
      values_of<float>(nf4::reference_dequantize(tensor, nf4::OutputType::kFloat32));
  EXPECT_EQ(values, (std::vector<float>{2.0f, -2.0f, 0.0f, 2.0f * 0.7229568362236023f}));
}

// bitsandbytes quantizes a block of zeros to code 0, so that it comes back as -0.
TEST(Reference, ZeroBlocksDecodeToNegativeZero) {
  nf4::Nf4Tensor tensor;
  tensor.shape = {2};
  tensor.elements = 2;
  tensor.absmax_kind = nf4::AbsmaxKind::kPlain;
  tensor.packed = {0x00};
  tensor.absmax = {0.0f};
  EXPECT_EQ(values_of<std::uint16_t>(nf4::reference_dequantize(tensor, nf4::OutputType::kBfloat16)),
            (std::vector<std::uint16_t>{0x8000, 0x8000}));
}

TEST(Reference, ARangeEqualsThatPartOfTheWhole) {
  const nf4::Nf4Tensor tensor = nf4::make_synthetic({.shape = {1000, 37}, .blocksize = 64});
  const std::vector<std::byte> whole = nf4::reference_dequantize(tensor, nf4::OutputType::kFloat16);
  for (const auto& [first, count] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {0, 0}, {0, 1}, {1, 1}, {63, 2}, {64, 64}, {65, 200}, {36'999, 1}, {37'000, 0}}) {
    std::vector<std::byte> part(static_cast<std::size_t>(count) * 2);
    nf4::reference_dequantize(tensor, nf4::OutputType::kFloat16, {first, count}, part);
    EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin() + first * 2))
        << first << " + " << count;
  }
}

TEST(Reference, RefusesRangesOutsideTheTensor) {
  const nf4::Nf4Tensor tensor = nf4::make_synthetic({.shape = {100}});
  std::vector<std::byte> output(4);
  const auto decode = [&](std::int64_t first, std::int64_t count) {
    nf4::reference_dequantize(tensor, nf4::OutputType::kFloat32, {first, count}, output);
  };
  EXPECT_NO_THROW(decode(99, 1));
  EXPECT_THROW(decode(100, 1), Error);
  EXPECT_THROW(decode(-1, 1), Error);
  EXPECT_THROW(decode(0, -1), Error);
  EXPECT_THROW(decode(INT64_MAX, 1), Error);
  EXPECT_THROW(decode(0, 2), Error);  // the output is too short
}

}  // namespace
}  // namespace nf4bench
