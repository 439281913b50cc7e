// The bytes that the integer kernels look up with prmt, on a prmt in plain C++: takes no device.

#include "cuda/matmul/linear/byte_tables.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace nf4bench::kernels::cuda {
namespace {

// What the instruction does: nibble i of the selectors chooses byte i of the result.
std::uint32_t prmt(std::uint32_t low, std::uint32_t high, std::uint32_t selectors) {
  const std::uint64_t bytes = std::uint64_t{high} << 32 | low;
  std::uint32_t result = 0;
  for (int i = 0; i < 4; ++i) {
    const std::uint32_t selector = selectors >> 4 * i & 15;
    std::uint32_t byte = bytes >> 8 * (selector & 7) & 255;
    if ((selector & 8) != 0) byte = (byte & 128) != 0 ? 255 : 0;
    result |= byte << 8 * i;
  }
  return result;
}

int signed_byte(std::uint32_t word, int i) {
  return static_cast<std::int8_t>(word >> 8 * i & 255);
}

// What the tensor core adds up for nibble i of the selectors.
int looked_up(const ByteTable& table, std::uint32_t selectors, int i) {
  return signed_byte(prmt(table.words[0], table.words[1], selectors), i) +
         signed_byte(prmt(table.words[2], table.words[3], selectors ^ 0x88888888u), i);
}

template <class Function>
void expect_looked_up(Function value_of) {
  const ByteTable table = make_byte_table(value_of);
  for (std::uint32_t pair = 0; pair < 256; ++pair) {
    for (const std::uint32_t selectors : {pair | pair << 8, pair | (pair ^ 255) << 8}) {
      for (int i = 0; i < 4; ++i) {
        EXPECT_EQ(looked_up(table, selectors, i), value_of(selectors >> 4 * i & 15))
            << "selectors " << selectors << ", nibble " << i;
      }
    }
  }
}

TEST(ByteTables, GiveEveryPairOfNibblesItsResiduals) {
  expect_looked_up(residual_of);
}

TEST(ByteTables, AreNoneWhereNoBytesAddUp) {
  for (const int wrong : {127, 128, -130}) {
    EXPECT_FALSE(find_bytes(wrong, -1).found) << wrong;
    EXPECT_FALSE(find_bytes(-1, wrong).found) << wrong;
    EXPECT_ANY_THROW(make_byte_table([&](int code) { return code == 3 ? wrong : -1; })) << wrong;
  }
  EXPECT_TRUE(find_bytes(127, 0).found);
  EXPECT_TRUE(find_bytes(126, -128).found);
}

// All pairs that bytes can stand for, and what they then give.
TEST(ByteTables, AddUpWhereverThereAreBytes) {
  for (int low = -128; low <= 127; ++low) {
    for (int high = -128; high <= 127; ++high) {
      const BytePair bytes = find_bytes(low, high);
      ASSERT_EQ(bytes.found, !(low == 127 && high < 0) && !(high == 127 && low < 0))
          << low << ", " << high;
      if (!bytes.found) continue;
      EXPECT_EQ(bytes.low - (bytes.high < 0 ? 1 : 0), low);
      EXPECT_EQ(bytes.high - (bytes.low < 0 ? 1 : 0), high);
    }
  }
}

// The largest error of `value_of` over the codebook.
template <class Function>
double largest_error(Function value_of) {
  double largest = 0.0;
  for (int code = 0; code < nf4::kCodes; ++code) {
    const double error = value_of(code) - static_cast<double>(nf4::codebook_value(code));
    largest = std::max(largest, std::fabs(error));
  }
  return largest;
}

TEST(ByteTables, AreAlmostTheCodebook) {
  EXPECT_LT(largest_error([](int code) {
              return (kLineSlope * code + kLineIntercept + residual_of(code)) / kLineSteps;
            }),
            3.7e-4);
}

}  // namespace
}  // namespace nf4bench::kernels::cuda
