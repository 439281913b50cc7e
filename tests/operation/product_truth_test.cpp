#include "operation/product_truth.hpp"

#include "nf4/reference.hpp"
#include "nf4/synthetic.hpp"
#include "nf4/values.hpp"
#include "operation/activations.hpp"
#include "operation/weight.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace nf4bench {
namespace {

constexpr std::int64_t kAll = std::numeric_limits<std::int64_t>::max();

// An odd width, so that blocks straddle rows.
class ProductTruth : public ::testing::Test {
 protected:
  ProductTruth() {
    problem_.tokens = 3;
    problem_.outputs = 20;
    problem_.inputs = 33;
  }

  std::vector<operation::ProductTruth> truth(std::int64_t most = kAll) const {
    return operation::product_truth(weight_, problem_, input_, most);
  }

  const nf4::OutputType type_ = nf4::OutputType::kBfloat16;
  const nf4::Nf4Tensor weight_ = nf4::make_synthetic({.shape = {20, 33}});
  kernels::Problem problem_ = operation::problem_of(weight_, type_);
  const std::vector<std::byte> input_ = operation::make_activations(
      [this] {
        kernels::Problem problem = problem_;
        problem.tokens = 3;
        problem.inputs = 33;
        return problem;
      }(),
      record::Activations::kNormal, 7);
};

TEST_F(ProductTruth, SumsProductsOfDecodedWeights) {
  const auto found = truth();
  const std::vector<double> w = nf4::to_doubles(type_, nf4::reference_dequantize(weight_, type_));
  const std::vector<double> x = nf4::to_doubles(type_, input_);
  ASSERT_EQ(found.size(), 60u);
  for (std::size_t m = 0; m < 3; ++m) {
    for (std::size_t n = 0; n < 20; ++n) {
      double value = 0.0;
      double squares = 0.0;
      for (std::size_t k = 0; k < 33; ++k) {
        const double product = x[m * 33 + k] * w[n * 33 + k];
        value += product;
        squares += product * product;
      }
      const operation::ProductTruth& truth = found[m * 20 + n];
      EXPECT_NEAR(truth.value, value, 1e-14 * std::sqrt(squares));
      EXPECT_GE(truth.reach, std::sqrt(squares) * (1.0 - 1e-14));
      EXPECT_GE(truth.reach, std::fabs(truth.value));
      EXPECT_GE(truth.spread, std::sqrt(2.0 * squares) * (1.0 - 1e-14));
      EXPECT_LE(truth.spread, 10.0 * std::sqrt(squares));
    }
  }
}

TEST_F(ProductTruth, APrefixIsTheStartOfAll) {
  const auto all = truth();
  for (const std::int64_t most :
       {std::int64_t{0}, std::int64_t{7}, std::int64_t{20}, std::int64_t{47}}) {
    const auto some = truth(most);
    ASSERT_EQ(some.size(), static_cast<std::size_t>(most));
    for (std::size_t i = 0; i < some.size(); ++i) EXPECT_EQ(some[i].value, all[i].value);
  }
}

TEST_F(ProductTruth, MoreTokensKeepTheFirst) {
  kernels::Problem fewer = problem_;
  fewer.tokens = 1;
  const auto input = operation::make_activations(fewer, record::Activations::kNormal, 7);
  const auto some = operation::product_truth(weight_, fewer, input, kAll);
  const auto all = truth();
  ASSERT_EQ(some.size(), 20u);
  for (std::size_t n = 0; n < some.size(); ++n) EXPECT_EQ(some[n].value, all[n].value);
}

}  // namespace
}  // namespace nf4bench
