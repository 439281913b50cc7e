#include "base/checked.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace nf4bench {
namespace {

TEST(Checked, SumsThatFitAreExact) {
  EXPECT_EQ(checked_add(0, 0), 0u);
  EXPECT_EQ(checked_add(UINT64_MAX - 1, 1), UINT64_MAX);
}

TEST(Checked, SumsThatWrapAreEmpty) {
  EXPECT_FALSE(checked_add(UINT64_MAX, 1));
  EXPECT_FALSE(checked_add(UINT64_MAX, UINT64_MAX));
}

TEST(Checked, ProductsThatFitAreExact) {
  EXPECT_EQ(checked_multiply(0, UINT64_MAX), 0u);
  EXPECT_EQ(checked_multiply(std::uint64_t{1} << 32, (std::uint64_t{1} << 32) - 1),
            UINT64_MAX - 0xffffffffu);
}

TEST(Checked, ProductsThatWrapAreEmpty) {
  EXPECT_FALSE(checked_multiply(std::uint64_t{1} << 32, std::uint64_t{1} << 32));
  // 4194305 * 4194305 * 211106198978564 is 4 modulo 2^64: a size that lies.
  EXPECT_FALSE(checked_multiply(4194305ull * 4194305ull, 211106198978564ull));
}

}  // namespace
}  // namespace nf4bench
