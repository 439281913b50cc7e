#include "operation/layer_truth.hpp"

#include "layer.hpp"
#include "nf4/reference.hpp"
#include "nf4/synthetic.hpp"
#include "nf4/values.hpp"
#include "operation/contents.hpp"
#include "operation/experts.hpp"
#include "operation/judge.hpp"
#include "operation/routing.hpp"
#include "operation/weight.hpp"
#include "record/fields.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <set>
#include <string>

namespace nf4bench {
namespace {

constexpr std::int64_t kAll = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kExperts = 4;
constexpr std::int64_t kInputs = 64;
constexpr std::int64_t kColumns = 64;
constexpr std::int64_t kTopK = 2;

class LayerTruth : public testing::TestWithParam<record::Activation> {
 protected:
  LayerTruth() {
    problem_.tokens = 5;
    record::RunOptions options;
    input_ = operation::call_input(operation::experts(), problem_, options);
    sibling_input_ =
        operation::call_input(operation::experts(), problem_, options, operation::Turn::kSibling);
  }

  static std::int64_t per_column() { return GetParam() == record::Activation::kRelu2 ? 1 : 2; }

  std::vector<operation::ProductTruth> truth(std::int64_t most = kAll) const {
    return operation::layer_truth(weight_, problem_, input_, most);
  }

  // From the definition.
  double output(std::int64_t token, std::int64_t n) const {
    const std::vector<double> w = nf4::to_doubles(type_, nf4::reference_dequantize(weight_, type_));
    const operation::CallParts parts = operation::parts_of(problem_, input_);
    const std::vector<double> x = nf4::to_doubles(type_, parts.rows);
    const std::int64_t first_size = per_column() * kColumns * kInputs;
    double sum = 0.0;
    for (std::int64_t slot = token * kTopK; slot < (token + 1) * kTopK; ++slot) {
      const std::int64_t expert = operation::expert_of(problem_, parts, slot);
      for (std::int64_t c = 0; c < kColumns; ++c) {
        const auto first = [&](std::int64_t row) {
          double product = 0.0;
          for (std::int64_t k = 0; k < kInputs; ++k) {
            product += x[static_cast<std::size_t>(token * kInputs + k)] *
                       w[static_cast<std::size_t>(expert * first_size + row * kInputs + k)];
          }
          return product;
        };
        double activated = 0.0;
        switch (GetParam()) {
          case record::Activation::kSilu:
            activated = first(c) / (1.0 + std::exp(-first(c))) * first(kColumns + c);
            break;
          case record::Activation::kGeluTanh: {
            const double g = first(c);
            activated = 0.5 * g *
                        (1.0 + std::tanh(std::sqrt(2.0 / M_PI) * (g + 0.044715 * g * g * g))) *
                        first(kColumns + c);
            break;
          }
          case record::Activation::kGptOss: {
            const double g = std::min(first(2 * c), 7.0);
            const double u = std::clamp(first(2 * c + 1), -7.0, 7.0);
            activated = (u + 1.0) * g / (1.0 + std::exp(-1.702 * g));
            break;
          }
          case record::Activation::kRelu2:
            activated = std::pow(std::max(first(c), 0.0), 2.0);
        }
        const std::int64_t second = kExperts * first_size + (expert * kInputs + n) * kColumns + c;
        sum +=
            operation::slot_weight(parts, slot) * activated * w[static_cast<std::size_t>(second)];
      }
    }
    return sum;
  }

  operation::Contents contents() {
    return {problem_, sibling_, input_, own_, of_sibling_, &sibling_input_};
  }
  std::vector<std::byte> own_bounds() const {
    return operation::bytes_of(operation::experts_bounds(weight_, problem_, input_, kAll));
  }
  std::vector<std::byte> sibling_bounds() const {
    return operation::bytes_of(operation::experts_bounds(sibling_, problem_, sibling_input_, kAll));
  }

  const nf4::OutputType type_ = nf4::OutputType::kBfloat16;
  const std::vector<std::int64_t> shape_ = {kExperts, (per_column() + 1) * kColumns, kInputs};
  nf4::Nf4Tensor weight_ =
      nf4::make_synthetic({.shape = shape_, .distribution = nf4::Distribution::kRandomCodes});
  nf4::Nf4Tensor sibling_ = operation::negated(weight_);
  kernels::Problem problem_ = operation::problem_of(
      operation::WeightSize{.shape = shape_,
                            .stack = record::Stack{record::StackPart::kLayer, kTopK, GetParam()}},
      type_);
  std::vector<std::byte> input_;
  std::vector<std::byte> sibling_input_;
  std::vector<std::byte> own_;
  std::vector<std::byte> of_sibling_;
};

TEST_P(LayerTruth, IsWhatTheDefinitionGives) {
  const auto found = truth();
  ASSERT_EQ(found.size(), static_cast<std::size_t>(5 * kInputs));
  double squares = 0.0;
  for (const auto& each : found) squares += each.value * each.value;
  const double rms = std::sqrt(squares / static_cast<double>(found.size()));
  EXPECT_GT(rms, 0.0);
  for (const std::int64_t at : {0, 63, 64, 130, 319}) {
    EXPECT_NEAR(found[static_cast<std::size_t>(at)].value, output(at / kInputs, at % kInputs),
                1e-7 * rms);
  }
}

TEST_P(LayerTruth, OfTheFirstOutputsIsTheSame) {
  const auto all = truth();
  for (const std::int64_t most : {1, 64, 100}) {
    const auto some = truth(most);
    ASSERT_EQ(some.size(), static_cast<std::size_t>(most));
    for (std::size_t i = 0; i < some.size(); ++i) EXPECT_EQ(some[i].value, all[i].value);
  }
}

// So tight that a single wrong column of what is activated is mostly beyond it.
TEST_P(LayerTruth, AllowsLittle) {
  const auto bounds = operation::experts_bounds(weight_, problem_, input_, kAll);
  double squares = 0.0;
  double allowed = 0.0;
  for (const auto& bound : bounds) {
    squares += bound.value * bound.value;
    allowed += double{bound.exact} * bound.exact;
    EXPECT_GE(std::fabs(bound.rounded), bound.exact);
  }
  EXPECT_LT(std::sqrt(allowed / squares), 0.05);
}

TEST_P(LayerTruth, IsTheSumOfItsParts) {
  const auto all = truth();
  std::vector<double> sums(all.size());
  for (std::int64_t expert = 0; expert < kExperts; ++expert) {
    for (std::int64_t column = 0; column < kColumns; column += 16) {
      const operation::LayerPart part = {
          .expert = expert, .outputs = kInputs, .first_column = column, .columns = 16};
      for (const auto& placed :
           operation::truth_of_layer_part(weight_, problem_, input_, part, kAll)) {
        for (std::size_t i = 0; i < placed.truths.size(); ++i) {
          sums[static_cast<std::size_t>(placed.first) + i] += placed.truths[i].value;
        }
      }
    }
  }
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_NEAR(sums[i], all[i].value, 1e-9);
}

// The negative of the weight gives the negative for the mirrored input.
TEST_P(LayerTruth, OfTheSiblingIsTheNegativeOfTheMirroredInput) {
  const auto own = operation::experts_bounds(weight_, problem_, input_, kAll);
  const auto other = operation::experts_bounds(
      sibling_, problem_, operation::experts().mirrored(problem_, input_), kAll);
  for (std::size_t i = 0; i < own.size(); ++i) EXPECT_EQ(own[i].value, -other[i].value);
}

// After changes of the weight, of activations and of the routing, in turn.
TEST_P(LayerTruth, FollowsWhatChangesInPlace) {
  std::mt19937_64 random{1};
  own_ = own_bounds();
  of_sibling_ = sibling_bounds();
  std::set<std::size_t> changed_inputs;
  for (int i = 0; i < 30; ++i) {
    const std::vector<std::byte> before = own_;
    const operation::Operation& experts = operation::experts();
    const device::ContentChange done = i % 3 == 0   ? change_weight(experts, contents(), random)
                                       : i % 3 == 1 ? change_input(experts, contents(), random)
                                                    : change_routing(experts, contents(), random);
    for (const device::ChangedInput& each : done.inputs) changed_inputs.insert(each.input);
    EXPECT_NE(before, own_) << i;
    weight_ = operation::negated(sibling_);
    const auto wanted = operation::bounds_in(own_bounds());
    const auto found = operation::bounds_in(own_);
    const auto wanted_sibling = operation::bounds_in(sibling_bounds());
    const auto found_sibling = operation::bounds_in(of_sibling_);
    for (std::size_t n = 0; n < wanted.size(); ++n) {
      ASSERT_NEAR(found[n].value, wanted[n].value, 1e-8) << i << " " << n;
      ASSERT_NEAR(found_sibling[n].value, wanted_sibling[n].value, 1e-8) << i << " " << n;
      ASSERT_GE(found[n].exact * 1.2f, wanted[n].exact) << i;
    }
  }
  EXPECT_EQ(changed_inputs, (std::set<std::size_t>{operation::kPacked, operation::kScales,
                                                   operation::kInput, operation::kIds}));
}

INSTANTIATE_TEST_SUITE_P(Activations, LayerTruth, testing::ValuesIn(kWords<record::Activation>),
                         [](const auto& each) { return std::string(to_string(each.param)); });

}  // namespace
}  // namespace nf4bench
