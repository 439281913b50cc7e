#include "nf4/arithmetic.hpp"

#include "nf4/narrow_oracle.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace nf4bench {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kSubnormal = std::numeric_limits<float>::denorm_min();
constexpr float kSmallestNormal = std::numeric_limits<float>::min();

// Calls check(value) for every border between two neighbours of the 16-bit type and the floats
// around it, for every value of the type itself, and for floats of random bits.
template <typename Check>
void for_hard_values(const NarrowOracle& oracle, Check check) {
  for (std::uint32_t bits = 0; bits < oracle.infinity(); ++bits) {
    const double here = oracle.value(static_cast<std::uint16_t>(bits));
    // The pattern of infinity is the table's next binade, so that the border below it is real.
    const double next = oracle.value(static_cast<std::uint16_t>(bits + 1));
    for (const double x : {here, (here + next) / 2.0}) {
      const auto value = static_cast<float>(x);
      for (const float near :
           {value, std::nextafter(value, kInfinity), std::nextafter(value, -kInfinity)}) {
        check(near);
        check(-near);
      }
    }
  }
  std::mt19937_64 random(7);
  for (int i = 0; i < 2'000'000; ++i) {
    const float value = nf4::float_of(static_cast<std::uint32_t>(random()));
    if (!std::isnan(value)) check(value);
  }
  check(std::numeric_limits<float>::max());
  check(-std::numeric_limits<float>::max());
  check(kInfinity);
  check(-kInfinity);
}

TEST(Float16, EveryValueComesBackUnchanged) {
  const NarrowOracle oracle = NarrowOracle::float16();
  for (std::uint32_t bits = 0; bits <= 0xffff; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    if (!oracle.is_finite(half)) continue;
    ASSERT_EQ(nf4::to_float16_bits(static_cast<float>(oracle.value(half))), half);
  }
  EXPECT_EQ(nf4::to_float16_bits(kInfinity), 0x7c00);
  EXPECT_EQ(nf4::to_float16_bits(-kInfinity), 0xfc00);
}

TEST(Float16, RoundsToNearestEvenAtEveryBorder) {
  const NarrowOracle oracle = NarrowOracle::float16();
  for_hard_values(oracle, [&](float value) {
    ASSERT_EQ(nf4::to_float16_bits(value), oracle.round(double{value})) << std::hexfloat << value;
  });
}

TEST(Float16, OverflowsFrom65520On) {
  EXPECT_EQ(nf4::to_float16_bits(65504.0f), 0x7bff);
  EXPECT_EQ(nf4::to_float16_bits(std::nextafter(65520.0f, 0.0f)), 0x7bff);
  EXPECT_EQ(nf4::to_float16_bits(65520.0f), 0x7c00);
  EXPECT_EQ(nf4::to_float16_bits(-65520.0f), 0xfc00);
}

TEST(Float16, KeepsSubnormalResults) {
  EXPECT_EQ(nf4::to_float16_bits(0x1p-24f), 0x0001);
  EXPECT_EQ(nf4::to_float16_bits(-0x1.ff8p-15f), 0x83ff);
  EXPECT_EQ(nf4::to_float16_bits(0x1p-25f), 0x0000);         // half a unit: ties to even
  EXPECT_EQ(nf4::to_float16_bits(0x1.000002p-25f), 0x0001);  // just above
  EXPECT_EQ(nf4::to_float16_bits(-0x1p-26f), 0x8000);        // the sign of zero stays
}

TEST(Float16, EveryNanBecomesTheOneNanOfTheDevice) {
  for (const std::uint32_t bits : {0x7fc00000u, 0xffc00000u, 0x7f800001u, 0xffffffffu}) {
    EXPECT_EQ(nf4::to_float16_bits(nf4::float_of(bits)), 0x7fff);
    EXPECT_EQ(nf4::to_bfloat16_bits(nf4::float_of(bits)), 0x7fff);
  }
}

#if defined(__x86_64__)
__attribute__((target("f16c"))) std::uint16_t processor_float16(float value) {
  return static_cast<std::uint16_t>(
      _mm_extract_epi16(_mm_cvtps_ph(_mm_set_ss(value), _MM_FROUND_TO_NEAREST_INT), 0));
}

TEST(Float16, AgreesWithTheProcessor) {
  // Every processor with AVX2 has F16C. Not every compiler can ask for F16C itself.
  if (!__builtin_cpu_supports("avx2")) GTEST_SKIP() << "this processor has no F16C";
  for_hard_values(NarrowOracle::float16(), [](float value) {
    ASSERT_EQ(nf4::to_float16_bits(value), processor_float16(value)) << std::hexfloat << value;
  });
}
#endif

TEST(Bfloat16, EveryValueComesBackUnchanged) {
  for (std::uint32_t bits = 0; bits <= 0xffff; ++bits) {
    const float value = nf4::float_of(bits << 16);
    if (!std::isnan(value)) {
      ASSERT_EQ(nf4::to_bfloat16_bits(value), bits);
    }
  }
}

TEST(Bfloat16, RoundsToNearestEvenAtEveryBorder) {
  const NarrowOracle oracle = NarrowOracle::bfloat16();
  for_hard_values(oracle, [&](float value) {
    ASSERT_EQ(nf4::to_bfloat16_bits(value), oracle.round(double{value})) << std::hexfloat << value;
  });
}

TEST(Bfloat16, OverflowsNearTheLargestFloat) {
  EXPECT_EQ(nf4::to_bfloat16_bits(nf4::float_of(0x7f7f7fff)), 0x7f7f);
  EXPECT_EQ(nf4::to_bfloat16_bits(nf4::float_of(0x7f7f8000)), 0x7f80);
}

TEST(Flush, TurnsSubnormalsIntoZeroOfTheirSign) {
  EXPECT_EQ(nf4::bits_of(nf4::flush_subnormal(kSubnormal)), 0x00000000u);
  EXPECT_EQ(nf4::bits_of(nf4::flush_subnormal(-kSubnormal)), 0x80000000u);
  EXPECT_EQ(nf4::bits_of(nf4::flush_subnormal(nf4::float_of(0x007fffff))), 0x00000000u);
  EXPECT_EQ(nf4::bits_of(nf4::flush_subnormal(nf4::float_of(0x807fffff))), 0x80000000u);
}

TEST(Flush, LeavesEverythingElse) {
  for (const float value :
       {0.0f, -0.0f, kSmallestNormal, -kSmallestNormal, 1.0f, kInfinity, kNan}) {
    EXPECT_EQ(nf4::bits_of(nf4::flush_subnormal(value)), nf4::bits_of(value));
  }
}

TEST(Multiply, FlushesSubnormalFactors) {
  // Without the flush both products would be normal numbers.
  EXPECT_EQ(nf4::bits_of(nf4::multiply_flushed(0x1p-127f, 0x1p100f)), 0x00000000u);
  EXPECT_EQ(nf4::bits_of(nf4::multiply_flushed(-0x1p100f, 0x1p-127f)), 0x80000000u);
}

TEST(Multiply, FlushesSubnormalProducts) {
  EXPECT_EQ(nf4::bits_of(nf4::multiply_flushed(0x1p-64f, 0x1p-63f)), 0x00000000u);
  EXPECT_EQ(nf4::bits_of(nf4::multiply_flushed(-0x1p-64f, 0x1p-63f)), 0x80000000u);
  EXPECT_EQ(nf4::multiply_flushed(0x1p-64f, 0x1p-62f), kSmallestNormal);
}

TEST(Multiply, AFlushedFactorTimesInfinityIsNan) {
  EXPECT_TRUE(std::isnan(nf4::multiply_flushed(kSubnormal, kInfinity)));
  EXPECT_TRUE(std::isnan(nf4::multiply_flushed(0.0f, -kInfinity)));
}

TEST(NestedScale, RoundsTwice) {
  // The product rounds to 1 + 2^-22, so the sum with -1 is 2^-22; fused it would be 2^-22 + 2^-46.
  EXPECT_EQ(nf4::nested_scale(1.0f + 0x1p-23f, 1.0f + 0x1p-23f, -1.0f), 0x1p-22f);
}

TEST(NestedScale, DoesNotFlushTheSum) {
  EXPECT_EQ(nf4::nested_scale(0.0f, 1.0f, 0x1p-130f), 0x1p-130f);
  EXPECT_EQ(nf4::nested_scale(0x1p-70f, 0x1p-70f, 0x1p-130f), 0x1p-130f);  // the product is flushed
  EXPECT_EQ(nf4::bits_of(nf4::nested_scale(-1.0f, 0.0f, -0.0f)), 0x80000000u);
}

}  // namespace
}  // namespace nf4bench
