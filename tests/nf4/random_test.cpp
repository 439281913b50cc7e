#include "nf4/random.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace nf4bench {
namespace {

TEST(Random, LogAgreesWithTheLibrary) {
  for (double x = 1e-300; x < 1e300; x *= 1.37) {
    EXPECT_NEAR(nf4::portable_log(x), std::log(x), 4e-16 * std::max(1.0, std::fabs(std::log(x))))
        << x;
  }
  EXPECT_EQ(nf4::portable_log(1.0), 0.0);
}

TEST(Random, ExpAgreesWithTheLibrary) {
  for (double x = -40.0; x < 40.0; x += 0.0137) {
    EXPECT_NEAR(nf4::portable_exp(x) / std::exp(x), 1.0, 1e-14) << x;
  }
  EXPECT_EQ(nf4::portable_exp(0.0), 1.0);
}

// The published bound of the approximation is 1.2e-9 of the quantile.
TEST(Random, NormalQuantileInvertsTheDistribution) {
  for (double p = 1e-12; p < 1.0; p += p < 0.03 ? p / 7 : 0.00037) {
    const double x = nf4::normal_quantile(p);
    const double density = std::exp(-x * x / 2.0) / std::sqrt(2.0 * M_PI);
    const double error = 0.5 * std::erfc(-x / std::sqrt(2.0)) - p;
    EXPECT_LT(std::fabs(error / density), 1.5e-9 * std::max(1.0, std::fabs(x))) << p;
    EXPECT_NEAR(nf4::normal_quantile(1.0 - p), -x, 1e-3 * std::fabs(x) + 1e-9) << p;
  }
}

TEST(Random, UnitNeverTouchesItsEnds) {
  EXPECT_GT(nf4::to_unit(0), 0.0);
  EXPECT_LT(nf4::to_unit(UINT64_MAX), 1.0);
  EXPECT_TRUE(std::isfinite(nf4::normal_quantile(nf4::to_unit(0))));
  EXPECT_TRUE(std::isfinite(nf4::normal_quantile(nf4::to_unit(UINT64_MAX))));
}

TEST(Random, StreamsAndSeedsAreIndependent) {
  const nf4::RandomStream a(42, 0);
  const nf4::RandomStream b(42, 1);
  const nf4::RandomStream c(43, 0);
  int same_bits = 0;
  for (std::int64_t i = 0; i < 1000; ++i) {
    EXPECT_NE(a.at(i), a.at(i + 1));
    same_bits += 64 - __builtin_popcountll(a.at(i) ^ b.at(i));
    same_bits += 64 - __builtin_popcountll(a.at(i) ^ c.at(i));
  }
  // 128000 fair coins: a standard deviation is 179.
  EXPECT_NEAR(same_bits, 64000, 5 * 179);
}

}  // namespace
}  // namespace nf4bench
