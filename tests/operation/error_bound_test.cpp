#include "nf4/arithmetic.hpp"
#include "nf4/reference.hpp"
#include "nf4/synthetic.hpp"
#include "nf4/values.hpp"
#include "operation/activations.hpp"
#include "operation/judge.hpp"
#include "operation/weight.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace nf4bench {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Kernels in small: what a real one gets right, and the faults that a judge must see.
class ErrorBound : public ::testing::TestWithParam<nf4::OutputType> {
 protected:
  static constexpr std::int64_t kTokens = 4;
  static constexpr std::int64_t kOutputs = 64;
  static constexpr std::int64_t kInputs = 4096;

  ErrorBound() {
    problem_.tokens = kTokens;
    problem_.outputs = kOutputs;
    problem_.inputs = kInputs;
    input_ = operation::make_activations(problem_, record::Activations::kNormal, 5);
    truth_ = operation::product_truth(weight_, problem_, input_,
                                      std::numeric_limits<std::int64_t>::max());
    x_ = nf4::to_doubles(type_, input_);
    w_ = nf4::to_doubles(type_, nf4::reference_dequantize(weight_, type_));
  }

  // The product with sums in float32, of what x_ and w_ hold.
  std::vector<std::byte> product(const std::function<float(float)>& round_sum = {}) const {
    std::vector<double> y;
    for (std::size_t m = 0; m < kTokens; ++m) {
      for (std::size_t n = 0; n < kOutputs; ++n) {
        float sum = 0.0f;
        for (std::size_t k = 0; k < kInputs; ++k) {
          sum += static_cast<float>(x_[m * kInputs + k]) * static_cast<float>(w_[n * kInputs + k]);
          if (round_sum) sum = round_sum(sum);
        }
        y.push_back(sum);
      }
    }
    return nf4::to_values(type_, y);
  }

  record::Verification judge(const std::vector<std::byte>& output) const {
    return operation::compare_products(
        type_, operation::bounds_of({.type = type_, .inputs = kInputs}, truth_), output);
  }

  float scale(std::int64_t block) const { return nf4::block_scale(weight_, block); }

  // Replaces every weight by decode(code, scale of its block).
  void decode_as(const std::function<double(int code, std::int64_t block)>& decode) {
    for (std::size_t i = 0; i < w_.size(); ++i) {
      const unsigned pair = weight_.packed[i / 2];
      const auto code = static_cast<int>(i % 2 == 0 ? pair >> 4 : pair & 15u);
      w_[i] = decode(code, static_cast<std::int64_t>(i) / weight_.blocksize);
    }
  }

  double rounded(double value) const {
    return nf4::value_at(type_, nf4::to_values(type_, {{value}}), 0);
  }

  const nf4::OutputType type_ = GetParam();
  const nf4::Nf4Tensor weight_ = nf4::make_synthetic({.shape = {kOutputs, kInputs}});
  kernels::Problem problem_ = operation::problem_of(weight_, type_);
  std::vector<std::byte> input_;
  std::vector<operation::ProductTruth> truth_;
  std::vector<double> x_;
  std::vector<double> w_;
};

// To 4 significant bits, as FP8 (E4M3) has.
double to_fp8(double value) {
  if (value == 0.0) return 0.0;
  const double step = std::exp2(std::floor(std::log2(std::fabs(value))) - 3.0);
  return std::nearbyint(value / step) * step;
}

TEST_P(ErrorBound, SumsInFloat32OfExactWeightsAreExact) {
  const record::Verification found = judge(product());
  EXPECT_TRUE(found.passed());
  EXPECT_EQ(found.compared, kTokens * kOutputs);
  ASSERT_TRUE(found.accuracy);
  EXPECT_EQ(found.accuracy->weights, record::WeightClass::kExact);
  EXPECT_GT(found.accuracy->rms_error, 0.0);
  EXPECT_LT(found.accuracy->rms_error, nf4::unit_roundoff(type_));
  EXPECT_LT(found.accuracy->max_error, 8.0 * nf4::unit_roundoff(type_));
}

TEST_P(ErrorBound, WeightsOfRoundedCodebookAndScaleAreToldApart) {
  decode_as([this](int code, std::int64_t block) {
    return rounded(rounded(nf4::codebook_value(code)) * rounded(scale(block)));
  });
  const record::Verification found = judge(product());
  EXPECT_TRUE(found.passed()) << operation::describe_error(found);
  EXPECT_EQ(found.accuracy->weights, record::WeightClass::kRounded);
}

TEST_P(ErrorBound, SumsInTheTypeOfTheOutputAreWrong) {
  const auto round_sum = [this](float sum) { return static_cast<float>(rounded(sum)); };
  EXPECT_GT(judge(product(round_sum)).mismatches, 0);
}

TEST_P(ErrorBound, AScaleOffByOneBlockIsWrong) {
  const std::int64_t last = weight_.blocks() - 1;
  decode_as([&](int code, std::int64_t block) {
    return rounded(nf4::codebook_value(code) * scale(std::min(block + 1, last)));
  });
  EXPECT_GT(judge(product()).mismatches, 0);
}

TEST_P(ErrorBound, WeightsThroughFp8AreWrong) {
  for (double& w : w_) w = to_fp8(w);
  EXPECT_GT(judge(product()).mismatches, 0);
}

TEST_P(ErrorBound, ActivationsThroughFp8AreWrong) {
  for (double& x : x_) x = to_fp8(x);
  EXPECT_GT(judge(product()).mismatches, 0);
}

TEST_P(ErrorBound, TheLastBlockLeftOutIsWrong) {
  for (std::size_t n = 0; n < kOutputs; ++n) {
    for (std::size_t k = kInputs - 64; k < kInputs; ++k) w_[n * kInputs + k] = 0.0;
  }
  EXPECT_GT(judge(product()).mismatches, 0);
}

TEST_P(ErrorBound, SwappedColumnsAreWrong) {
  std::vector<std::byte> output = product();
  const std::size_t size = nf4::size_in_bytes(type_);
  std::swap_ranges(output.begin(), output.begin() + static_cast<std::ptrdiff_t>(size),
                   output.begin() + static_cast<std::ptrdiff_t>(size));
  const record::Verification found = judge(output);
  EXPECT_GT(found.mismatches, 0);
  EXPECT_EQ(found.first_mismatch, 0);
}

TEST_P(ErrorBound, PoisonAndZerosAreWrong) {
  std::vector<std::byte> output(product().size(), std::byte{0xeb});
  EXPECT_GT(judge(output).mismatches, kTokens * kOutputs / 2);
  output.assign(output.size(), std::byte{0});
  EXPECT_GT(judge(output).mismatches, kTokens * kOutputs / 2);
}

INSTANTIATE_TEST_SUITE_P(Types, ErrorBound,
                         ::testing::Values(nf4::OutputType::kFloat16, nf4::OutputType::kBfloat16),
                         [](const auto& type) { return to_string(type.param); });

// One output in half precision.
record::Verification judge_one(operation::ProductTruth truth, double actual) {
  const auto type = nf4::OutputType::kFloat16;
  return operation::compare_products(type, operation::bounds_of({type, 64}, {{truth}}),
                                     nf4::to_values(type, {{actual}}));
}

TEST(ErrorBoundAtTheEnds, NanAndInfinityMustBeMet) {
  EXPECT_TRUE(judge_one({kNan, kNan, kNan}, kNan).passed());
  EXPECT_FALSE(judge_one({kNan, kNan, kNan}, 1.0).passed());
  EXPECT_TRUE(judge_one({kInfinity, kInfinity, kInfinity}, kInfinity).passed());
  EXPECT_FALSE(judge_one({kInfinity, kInfinity, kInfinity}, 60000.0).passed());
  EXPECT_FALSE(judge_one({1.0, 2.0, 2.0}, kNan).passed());
  EXPECT_FALSE(judge_one({1.0, 2.0, 2.0}, kInfinity).passed());
}

TEST(ErrorBoundAtTheEnds, WhatTheTypeCannotHoldIsInfinity) {
  EXPECT_TRUE(judge_one({1e6, 1e6, 1e6}, kInfinity).passed());
  EXPECT_FALSE(judge_one({1e6, 1e6, 1e6}, -kInfinity).passed());
  EXPECT_FALSE(judge_one({1e6, 1e6, 1e6}, 65504.0).passed());
  EXPECT_TRUE(judge_one({65500.0, 65500.0, 65500.0}, kInfinity).passed());
  EXPECT_TRUE(judge_one({65500.0, 65500.0, 65500.0}, 65504.0).passed());
  EXPECT_FALSE(judge_one({50000.0, 50000.0, 50000.0}, kInfinity).passed());
}

// 3e38 is in range, and the sum of two of it is not, however they are summed up to there.
TEST(ErrorBoundAtTheEnds, SumsThatFloat32CannotHoldMayBeInfinityOrNan) {
  const auto type = nf4::OutputType::kBfloat16;
  const auto judge = [&](double greatest_sum, double actual) {
    const operation::ProductTruth truth = {3e38, 3e38, 3e38, greatest_sum};
    return operation::compare_products(type, operation::bounds_of({type, 64}, {{truth}}),
                                       nf4::to_values(type, {{actual}}))
        .passed();
  };
  for (const double odd : {kInfinity, -kInfinity, kNan}) {
    EXPECT_TRUE(judge(3.41e38, odd)) << odd;  // float32 ends at 3.4028e38
    EXPECT_FALSE(judge(3.40e38, odd) && odd != kInfinity) << odd;
  }
  EXPECT_TRUE(judge(3.41e38, 3e38));
  EXPECT_FALSE(judge(3.41e38, 1e38));
}

TEST(ErrorBoundAtTheEnds, TheGreatestSumCountsEachProductAndEachActivation) {
  nf4::Nf4Tensor weight = nf4::make_synthetic({.shape = {1, 64}});
  std::ranges::fill(weight.packed, std::uint8_t{0xff});  // codes of 1
  weight.absmax_kind = nf4::AbsmaxKind::kPlain;
  weight.absmax_codes.clear();
  kernels::Problem problem = operation::problem_of(weight, nf4::OutputType::kBfloat16);
  problem.tokens = 1;
  problem.outputs = 1;
  problem.inputs = 64;
  const std::vector<double> x(64, 2.0);
  for (const float scale : {0.5f, 4.0f}) {
    weight.absmax = {scale};
    const auto truth =
        operation::product_truth(weight, problem, nf4::to_values(nf4::OutputType::kBfloat16, x), 1);
    EXPECT_NEAR(truth.at(0).greatest_sum, std::max(1.0f, scale) * 128.0, 1e-9) << scale;
  }
}

// Whatever the weights are.
TEST(ErrorBoundAtTheEnds, OutputsWithoutANumberTellOfNoWeight) {
  for (const double truth : {0.0, kNan, kInfinity}) {
    const record::Verification found = judge_one({truth, truth, truth}, truth);
    EXPECT_TRUE(found.passed());
    EXPECT_EQ(found.accuracy.value().weights, record::WeightClass::kUnseen) << truth;
  }
  EXPECT_EQ(judge_one({1.0, 1.0, 1.0}, 1.0).accuracy.value().weights, record::WeightClass::kExact);
}

TEST(ErrorBoundAtTheEnds, SumsThatCancelAreHeldToWhatWasSummed) {
  EXPECT_TRUE(judge_one({0.0, 1000.0, 1000.0}, 1e-3).passed());
  EXPECT_FALSE(judge_one({0.0, 1.0, 1.0}, 0.01).passed());
}

}  // namespace
}  // namespace nf4bench
