#include "operation/activations.hpp"

#include "nf4/values.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace nf4bench {
namespace {

using record::Activations;

kernels::Problem problem(std::int64_t tokens, std::int64_t inputs) {
  kernels::Problem problem;
  problem.tokens = tokens;
  problem.inputs = inputs;
  problem.output_type = nf4::OutputType::kFloat16;
  return problem;
}

std::vector<double> draw(std::int64_t tokens, Activations kind, std::uint64_t seed) {
  return nf4::to_doubles(nf4::OutputType::kFloat16,
                         operation::make_activations(problem(tokens, 1000), kind, seed));
}

double rms(const std::vector<double>& values) {
  double squares = 0.0;
  for (const double value : values) squares += value * value;
  return std::sqrt(squares / static_cast<double>(values.size()));
}

TEST(Activations, NormalOnesHaveTheDeviationOne) {
  const std::vector<double> x = draw(50, Activations::kNormal, 1);
  ASSERT_EQ(x.size(), 50'000u);
  EXPECT_NEAR(rms(x), 1.0, 0.02);
  EXPECT_LT(*std::max_element(x.begin(), x.end()), 6.0);
}

TEST(Activations, OutliersStandInTheSameFewChannelsOfAllTokens) {
  const std::vector<double> x = draw(50, Activations::kOutlier, 1);
  std::vector<std::size_t> outliers;
  for (std::size_t k = 0; k < 1000; ++k) {
    std::vector<double> channel;
    for (std::size_t m = 0; m < 50; ++m) channel.push_back(x[m * 1000 + k]);
    const double size = rms(channel);
    EXPECT_TRUE(size < 2.0 || size > 50.0) << "channel " << k << " has the size " << size;
    if (size > 50.0) outliers.push_back(k);
  }
  EXPECT_GE(outliers.size(), 3u);
  EXPECT_LE(outliers.size(), 25u);
}

TEST(Activations, TheFirstTokensDoNotDependOnTheirNumber) {
  const std::vector<double> few = draw(2, Activations::kOutlier, 9);
  const std::vector<double> many = draw(64, Activations::kOutlier, 9);
  EXPECT_TRUE(std::equal(few.begin(), few.end(), many.begin()));
}

TEST(Activations, FollowTheSeed) {
  EXPECT_EQ(draw(1, Activations::kNormal, 3), draw(1, Activations::kNormal, 3));
  EXPECT_NE(draw(1, Activations::kNormal, 3), draw(1, Activations::kNormal, 4));
}

}  // namespace
}  // namespace nf4bench
