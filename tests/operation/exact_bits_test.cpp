#include "base/error.hpp"
#include "operation/judge.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace nf4bench {
namespace {

template <typename Bits>
record::Verification compare(nf4::OutputType type, const std::vector<Bits>& expected,
                             const std::vector<Bits>& actual) {
  return operation::compare_outputs(type, std::as_bytes(std::span(expected)),
                                    std::as_bytes(std::span(actual)));
}

record::Verification halves(std::uint16_t expected, std::uint16_t actual) {
  return compare<std::uint16_t>(nf4::OutputType::kFloat16, {expected}, {actual});
}
record::Verification bfloats(std::uint16_t expected, std::uint16_t actual) {
  return compare<std::uint16_t>(nf4::OutputType::kBfloat16, {expected}, {actual});
}
record::Verification floats(std::uint32_t expected, std::uint32_t actual) {
  return compare<std::uint32_t>(nf4::OutputType::kFloat32, {expected}, {actual});
}

TEST(Comparison, EqualBitsAreExact) {
  const std::vector<std::uint16_t> values = {0x0000, 0x8000, 0x3c00, 0x7c00, 0x7fff};
  const record::Verification found = compare(nf4::OutputType::kFloat16, values, values);
  EXPECT_TRUE(found.passed());
  EXPECT_EQ(found.compared, 5);
  EXPECT_FALSE(found.first_mismatch);
  EXPECT_EQ(found.max_ulp, 0u);
}

TEST(Comparison, NothingIsExact) {
  const record::Verification found = operation::compare_outputs(nf4::OutputType::kFloat32, {}, {});
  EXPECT_TRUE(found.passed());
  EXPECT_EQ(found.compared, 0);
}

TEST(Comparison, AnyNanEqualsAnyNan) {
  EXPECT_TRUE(halves(0x7fff, 0xfe01).passed());
  EXPECT_TRUE(bfloats(0x7fff, 0xffc0).passed());
  EXPECT_TRUE(floats(0x7fffffff, 0xff800001).passed());
}

TEST(Comparison, ANanAgainstANumberCountsAsTheWholeRange) {
  EXPECT_EQ(halves(0x7fff, 0x3c00).max_ulp, 0xffffu);
  EXPECT_EQ(bfloats(0x3f80, 0x7fff).max_ulp, 0xffffu);
  EXPECT_EQ(floats(0x7fc00000, 0x7f800000).max_ulp, 0xffffffffu);
  EXPECT_EQ(halves(0x7c01, 0x7c00).mismatches, 1);  // NaN is not infinity
}

// 0x7c01 is NaN in half precision and a number in bfloat16.
TEST(Comparison, KnowsWhichPatternsAreNan) {
  EXPECT_TRUE(halves(0x7c01, 0x7c02).passed());
  EXPECT_EQ(bfloats(0x7c01, 0x7c02).max_ulp, 1u);
}

TEST(Comparison, ZerosOfDifferentSignDiffer) {
  EXPECT_EQ(halves(0x0000, 0x8000).mismatches, 1);
  EXPECT_EQ(halves(0x0000, 0x8000).max_ulp, 1u);
  EXPECT_EQ(bfloats(0x8000, 0x0000).mismatches, 1);
  EXPECT_EQ(floats(0x80000000, 0x00000000).max_ulp, 1u);
}

TEST(Comparison, CountsUlpsAcrossBinadesSignsAndInfinity) {
  EXPECT_EQ(halves(0x3bff, 0x3c00).max_ulp, 1u);                   // below and at 1.0
  EXPECT_EQ(halves(0x7bff, 0x7c00).max_ulp, 1u);                   // the largest and infinity
  EXPECT_EQ(halves(0x0001, 0x8001).max_ulp, 3u);                   // +tiny, +0, -0, -tiny
  EXPECT_EQ(floats(0xbf800000, 0xbf800002).max_ulp, 2u);           // both negative
  EXPECT_EQ(floats(0xff800000, 0x7f800000).max_ulp, 0xff000001u);  // from -inf to +inf
}

TEST(Comparison, CountsEveryMismatchAndFindsTheFirst) {
  // Long enough for several threads and strides, with an odd tail.
  std::vector<std::uint16_t> expected(1'000'003, 0x3c00);
  std::vector<std::uint16_t> actual = expected;
  for (const std::size_t i : {16'383u, 16'384u, 500'000u, 999'999u, 1'000'002u}) ++actual[i];
  actual[500'000] += 40;
  const record::Verification found = compare(nf4::OutputType::kFloat16, expected, actual);
  EXPECT_EQ(found.compared, 1'000'003);
  EXPECT_EQ(found.mismatches, 5);
  EXPECT_EQ(found.first_mismatch, 16'383);
  EXPECT_EQ(found.max_ulp, 41u);
}

TEST(Comparison, EverythingWrongIsCountedInFull) {
  const std::vector<std::uint32_t> expected(700'001, 0x3f800000);
  const std::vector<std::uint32_t> actual(700'001, 0xebebebeb);
  const record::Verification found = compare(nf4::OutputType::kFloat32, expected, actual);
  EXPECT_EQ(found.mismatches, 700'001);
  EXPECT_EQ(found.first_mismatch, 0);
}

TEST(Comparison, TakesUnalignedBytes) {
  std::vector<std::byte> bytes(4 * 3 + 1);
  const std::uint32_t bits[] = {0x3f800000, 0x40000000, 0x40400000};
  std::memcpy(bytes.data() + 1, bits, sizeof(bits));
  const record::Verification found = operation::compare_outputs(
      nf4::OutputType::kFloat32, std::span(bytes).subspan(1), std::as_bytes(std::span(bits)));
  EXPECT_TRUE(found.passed());
}

TEST(Comparison, RefusesDifferentLengths) {
  const std::vector<std::byte> four(4);
  const std::vector<std::byte> six(6);
  EXPECT_THROW(operation::compare_outputs(nf4::OutputType::kFloat16, four, six), Error);
  EXPECT_THROW(operation::compare_outputs(nf4::OutputType::kFloat32, six, six), Error);
}

}  // namespace
}  // namespace nf4bench
