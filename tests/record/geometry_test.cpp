#include "record/geometry.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace nf4bench {
namespace {

TEST(Geometry, CountsElementsAndBlocks) {
  const record::Geometry ragged = {.shape = {5, 129, 3}, .blocksize = 64};
  EXPECT_EQ(ragged.elements(), 1935);
  EXPECT_EQ(ragged.blocks(), 31);
}

TEST(Geometry, OfAScalarHasOneElement) {
  EXPECT_EQ(record::Geometry{}.elements(), 1);
  EXPECT_EQ(record::Geometry{}.blocks(), 1);
}

// A report may name such a shape, whose first two extents alone exceed 63 bits.
TEST(Geometry, OfAShapeThatEndsInZeroHasNoElements) {
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  const record::Geometry empty = {.shape = {most, 2, 0}};
  EXPECT_EQ(empty.elements(), 0);
  EXPECT_EQ(empty.blocks(), 0);
}

TEST(Geometry, DiffersInEachOfItsParts) {
  const record::Geometry first = {.shape = {64, 32}};
  EXPECT_EQ(first, (record::Geometry{.shape = {64, 32}}));
  EXPECT_NE(first, (record::Geometry{.shape = {32, 64}}));
  EXPECT_NE(first, (record::Geometry{.shape = {64, 32}, .blocksize = 128}));
  EXPECT_NE(first, (record::Geometry{.shape = {64, 32}, .absmax_kind = nf4::AbsmaxKind::kPlain}));
}

}  // namespace
}  // namespace nf4bench
