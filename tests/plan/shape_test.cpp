#include "base/error.hpp"
#include "plan/words.hpp"

#include <gtest/gtest.h>

namespace nf4bench {
namespace {

using Shape = std::vector<std::int64_t>;

TEST(Shape, MayHaveAnyRank) {
  EXPECT_EQ(plan::parse_shape("100"), (Shape{100}));
  EXPECT_EQ(plan::parse_shape("4096x14336"), (Shape{4096, 14336}));
  EXPECT_EQ(plan::parse_shape("2x3x4x5"), (Shape{2, 3, 4, 5}));
}

TEST(Shape, LargestCountIsTwoToThe63MinusOne) {
  EXPECT_EQ(plan::parse_shape("9223372036854775807"), (Shape{9223372036854775807}));
  EXPECT_THROW(plan::parse_shape("9223372036854775808"), Error);
  EXPECT_THROW(plan::parse_shape("4611686018427387904x2"), Error);
  EXPECT_NO_THROW(plan::parse_shape("4611686018427387903x2"));
}

TEST(Blocksize, IsAPowerOfTwoFrom32To4096) {
  for (int good = 32; good <= 4096; good *= 2) EXPECT_EQ(plan::check_blocksize(good), good);
  for (const int bad : {-64, 0, 16, 33, 48, 8192}) EXPECT_THROW(plan::check_blocksize(bad), Error);
}

}  // namespace
}  // namespace nf4bench
