#include "nf4/matrices.hpp"

#include "base/error.hpp"
#include "nf4/reference.hpp"
#include "nf4/synthetic.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

namespace nf4bench {
namespace {

nf4::Nf4Tensor stack_of(std::vector<std::int64_t> shape, nf4::AbsmaxKind kind) {
  return nf4::make_synthetic({.name = "experts",
                              .shape = std::move(shape),
                              .absmax_kind = kind,
                              .distribution = nf4::Distribution::kExtremes});
}

// Every matrix of a stack is valid, and together they decode to what the stack does.
void expect_same_values(const nf4::Nf4Tensor& stack, nf4::AbsmaxKind expected_kind) {
  const nf4::OutputType type = nf4::OutputType::kFloat32;
  std::vector<std::byte> joined;
  for (std::int64_t i = 0; i < nf4::matrix_count(stack.shape); ++i) {
    const nf4::Nf4Tensor matrix = nf4::matrix_of(stack, i);
    nf4::validate(matrix);
    EXPECT_EQ(matrix.shape, nf4::matrix_shape(stack.shape));
    EXPECT_EQ(matrix.name, "experts[" + std::to_string(i) + "]");
    EXPECT_EQ(matrix.absmax_kind, expected_kind);
    const std::vector<std::byte> values = nf4::reference_dequantize(matrix, type);
    joined.insert(joined.end(), values.begin(), values.end());
  }
  EXPECT_EQ(joined, nf4::reference_dequantize(stack, type));
}

TEST(Matrices, OfAStackDecodeToWhatTheStackDoes) {
  expect_same_values(stack_of({3, 32, 64}, nf4::AbsmaxKind::kPlain), nf4::AbsmaxKind::kPlain);
  expect_same_values(stack_of({2, 3, 16, 64}, nf4::AbsmaxKind::kPlain), nf4::AbsmaxKind::kPlain);
}

TEST(Matrices, KeepNestedScalesThatTheyBeginABlockOf) {
  expect_same_values(stack_of({3, 256, 64}, nf4::AbsmaxKind::kNested), nf4::AbsmaxKind::kNested);
}

TEST(Matrices, HavePlainScalesWhereTheyBeginWithinABlockOfNestedOnes) {
  expect_same_values(stack_of({3, 200, 64}, nf4::AbsmaxKind::kNested), nf4::AbsmaxKind::kPlain);
}

TEST(Matrices, OneIsTheWholeWeight) {
  expect_same_values(stack_of({1, 5, 7}, nf4::AbsmaxKind::kNested), nf4::AbsmaxKind::kNested);
  EXPECT_EQ(nf4::matrix_count({5, 7}), 1);
  EXPECT_EQ(nf4::matrix_shape({7}), std::vector<std::int64_t>{7});
}

TEST(Matrices, AreRefusedWhereTheyBeginWithinABlock) {
  const nf4::Nf4Tensor stack = stack_of({2, 5, 8}, nf4::AbsmaxKind::kPlain);
  EXPECT_THROW(nf4::matrix_of(stack, 1), Error);
}

TEST(Matrices, ScalesThatBecomePlainDecodeToTheSame) {
  for (const auto kind : {nf4::AbsmaxKind::kPlain, nf4::AbsmaxKind::kNested}) {
    const nf4::Nf4Tensor before = stack_of({2, 150, 64}, kind);
    nf4::Nf4Tensor after = before;
    nf4::make_plain(after);
    nf4::validate(after);
    EXPECT_FALSE(after.is_nested());
    EXPECT_EQ(nf4::reference_dequantize(after, nf4::OutputType::kFloat32),
              nf4::reference_dequantize(before, nf4::OutputType::kFloat32));
  }
}

TEST(Matrices, ThatAreJoinedDecodeToWhatTheStackDoes) {
  const nf4::Nf4Tensor stack = stack_of({3, 200, 64}, nf4::AbsmaxKind::kNested);
  nf4::Nf4Tensor joined = nf4::matrix_of(stack, 0);
  for (std::int64_t i = 1; i < 3; ++i) nf4::append(joined, nf4::matrix_of(stack, i));
  joined.shape = stack.shape;
  nf4::validate(joined);
  EXPECT_EQ(nf4::reference_dequantize(joined, nf4::OutputType::kFloat32),
            nf4::reference_dequantize(stack, nf4::OutputType::kFloat32));
}

TEST(Matrices, AreNotJoinedWithinABlockOrWithOtherBlocks) {
  nf4::Nf4Tensor uneven = stack_of({5, 8}, nf4::AbsmaxKind::kPlain);
  EXPECT_THROW(nf4::append(uneven, uneven), Error);
  nf4::Nf4Tensor whole = stack_of({5, 64}, nf4::AbsmaxKind::kPlain);
  nf4::Nf4Tensor other = whole;
  other.blocksize = 128;
  EXPECT_THROW(nf4::append(whole, other), Error);
}

}  // namespace
}  // namespace nf4bench
