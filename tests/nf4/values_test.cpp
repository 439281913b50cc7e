// Values in memory, the numbers that they stand for, and the limits of their types.

#include "nf4/values.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

namespace nf4bench::nf4 {
namespace {

double rounded(OutputType type, double number) {
  return value_at(type, to_values(type, std::vector{number}), 0);
}

std::vector<std::byte> all_16_bit_patterns() {
  std::vector<std::byte> values(std::size_t{2} << 16);
  for (unsigned i = 0; i < 1u << 16; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    std::memcpy(values.data() + std::size_t{2} * i, &bits, sizeof(bits));
  }
  return values;
}

TEST(Values, EveryValueOf16BitsIsReadExactly) {
  const std::vector<std::byte> values = all_16_bit_patterns();
  for (const OutputType type : {OutputType::kFloat16, OutputType::kBfloat16}) {
    const std::vector<double> numbers = to_doubles(type, values);
    const std::vector<std::byte> again = to_values(type, numbers);
    ASSERT_EQ(again.size(), values.size());
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      if (std::isnan(numbers[i])) continue;  // of many NaNs one is written
      ASSERT_EQ(std::memcmp(&again[2 * i], &values[2 * i], 2), 0) << to_string(type) << ' ' << i;
    }
  }
  EXPECT_EQ(to_doubles(OutputType::kFloat16, values)[0x3c00], 1.0);
  EXPECT_EQ(to_doubles(OutputType::kFloat16, values)[0x0001], std::ldexp(1.0, -24));
  EXPECT_EQ(to_doubles(OutputType::kBfloat16, values)[0xc040], -3.0);
  EXPECT_TRUE(std::isnan(to_doubles(OutputType::kFloat16, values)[0x7e00]));
  EXPECT_TRUE(std::isinf(to_doubles(OutputType::kFloat16, values)[0xfc00]));
}

TEST(Values, AreFoundByTheirIndex) {
  for (const OutputType type : kOutputTypes) {
    EXPECT_EQ(value_at(type, to_values(type, std::vector{1.0, -2.5, 0.0}), 1), -2.5);
  }
}

TEST(Values, LimitsOfATypeAreThoseOfItsRounding) {
  for (const OutputType type : kOutputTypes) {
    const double half_a_step = unit_roundoff(type);
    EXPECT_EQ(rounded(type, 1.0 + half_a_step), 1.0) << to_string(type);  // a tie, to even
    EXPECT_EQ(rounded(type, 1.0 + 2.0 * half_a_step), 1.0 + 2.0 * half_a_step);
    EXPECT_EQ(rounded(type, largest(type)), largest(type));
    EXPECT_TRUE(std::isinf(rounded(type, largest(type) * (1.0 + half_a_step))));
    EXPECT_EQ(rounded(type, smallest_step(type)), smallest_step(type));
    EXPECT_EQ(rounded(type, smallest_step(type) / 2.0), 0.0);
  }
}

}  // namespace
}  // namespace nf4bench::nf4
