#include "statistics/statistics.hpp"

#include <gtest/gtest.h>

namespace nf4bench {
namespace {

// Values of the printed tables that every textbook of statistics carries.

TEST(Distributions, NormalQuantilesAreThoseOfTheTables) {
  EXPECT_NEAR(statistics::normal_quantile(0.975), 1.959964, 1e-6);
  EXPECT_NEAR(statistics::normal_quantile(0.995), 2.575829, 1e-6);
  EXPECT_NEAR(statistics::normal_quantile(0.9999), 3.719016, 1e-6);
  EXPECT_NEAR(statistics::normal_quantile(0.025), -1.959964, 1e-6);
  EXPECT_NEAR(statistics::normal_quantile(0.5), 0.0, 1e-9);
}

TEST(Distributions, StudentQuantilesAreThoseOfTheTables) {
  EXPECT_NEAR(statistics::student_quantile(0.975, 1), 12.7062, 1e-4);
  EXPECT_NEAR(statistics::student_quantile(0.995, 2), 9.9248, 1e-4);
  EXPECT_NEAR(statistics::student_quantile(0.995, 5), 4.0321, 1e-4);
  EXPECT_NEAR(statistics::student_quantile(0.975, 10), 2.2281, 1e-4);
  EXPECT_NEAR(statistics::student_quantile(0.9995, 30), 3.6460, 1e-4);
  EXPECT_NEAR(statistics::student_quantile(0.995, 121), 2.6171, 1e-3);
  EXPECT_NEAR(statistics::student_quantile(0.01, 5), -3.3649, 1e-4);
}

TEST(Distributions, ChiSquaredQuantilesAreThoseOfTheTables) {
  EXPECT_NEAR(statistics::chi_squared_quantile(0.995, 1), 7.8794, 1e-4);
  EXPECT_NEAR(statistics::chi_squared_quantile(0.995, 2), 10.5966, 1e-4);
  EXPECT_NEAR(statistics::chi_squared_quantile(0.95, 5), 11.0705, 1e-4);
  EXPECT_NEAR(statistics::chi_squared_quantile(0.995, 10), 25.1882, 1e-4);
  EXPECT_NEAR(statistics::chi_squared_quantile(0.99, 30), 50.8922, 1e-4);
  EXPECT_NEAR(statistics::chi_squared_quantile(0.05, 100), 77.9295, 1e-4);
}

TEST(Distributions, SignTestCountsTheCoins) {
  EXPECT_DOUBLE_EQ(statistics::sign_test(0, 0), 1.0);
  EXPECT_NEAR(statistics::sign_test(0, 7), 1.0, 1e-12);
  EXPECT_NEAR(statistics::sign_test(7, 7), 1.0 / 128.0, 1e-12);
  EXPECT_NEAR(statistics::sign_test(6, 7), 8.0 / 128.0, 1e-12);
  EXPECT_NEAR(statistics::sign_test(10, 10), 1.0 / 1024.0, 1e-12);
  EXPECT_NEAR(statistics::sign_test(600, 1000), 1.3642e-10, 1e-14);
  EXPECT_EQ(statistics::sign_test(8, 7), 0.0);
  EXPECT_GT(statistics::sign_test(3000, 5000), 0.0);  // 2^-5000 alone is none
}

}  // namespace
}  // namespace nf4bench
