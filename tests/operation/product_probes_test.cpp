#include "nf4/reference.hpp"
#include "nf4/synthetic.hpp"
#include "nf4/values.hpp"
#include "operation/judge.hpp"
#include "operation/probes.hpp"
#include "operation/weight.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace nf4bench {
namespace {

using nf4::OutputType;
using operation::Probe;
using operation::ProbeStep;

std::vector<kernels::ProductBound> bounds_in(const ProbeStep& step) {
  return operation::bounds_in(step.expected);
}

// Blocks that straddle rows.
class ProductProbes : public testing::TestWithParam<OutputType> {
 protected:
  static constexpr std::int64_t kOutputs = 5;
  static constexpr std::int64_t kInputs = 150;

  ProductProbes() { problem_.tokens = 4; }

  std::vector<Probe> probes() const {
    return operation::product_probes(problem_, settings_, record::DeviceKind::kCpu);
  }

  const OutputType type_ = GetParam();
  const nf4::Nf4Tensor weight_ = nf4::make_synthetic({.shape = {kOutputs, kInputs}});
  kernels::Problem problem_ = operation::problem_of(weight_, type_);
  record::RunOptions settings_;
};

TEST_P(ProductProbes, AskForEveryWeightAlone) {
  const std::vector<double> w = nf4::to_doubles(type_, nf4::reference_dequantize(weight_, type_));
  const Probe walk = probes().at(0);
  EXPECT_EQ(walk.steps, 38);
  std::set<std::size_t> seen;
  for (std::int64_t i = 0; i < walk.steps; ++i) {
    const ProbeStep step = walk.make(weight_, i);
    const std::vector<double> x = nf4::to_doubles(type_, step.input);
    const auto bounds = bounds_in(step);
    ASSERT_EQ(bounds.size(), 4u * kOutputs);
    for (std::size_t m = 0; m < 4; ++m) {
      std::size_t at = 0;
      for (std::size_t k = 0; k < kInputs; ++k) {
        if (x[m * kInputs + k] == 0.0) continue;
        EXPECT_EQ(x[m * kInputs + k], 1.0);
        at = k;
      }
      for (std::size_t n = 0; n < kOutputs; ++n) {
        EXPECT_EQ(bounds[m * kOutputs + n].value, w[n * kInputs + at]);
        seen.insert(n * kInputs + at);
      }
    }
  }
  EXPECT_EQ(seen.size(), w.size());
}

TEST_P(ProductProbes, LeaveAWeightOneUnitOrFourRoundingsOfItsScale) {
  const auto bounds = bounds_in(probes().at(0).make(weight_, 0));
  const double u = nf4::unit_roundoff(type_);
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    const auto element = static_cast<std::int64_t>(i % kOutputs * kInputs + i / kOutputs);
    const double scale = nf4::block_scale(weight_, element / weight_.blocksize);
    const double size = std::fabs(bounds[i].value);
    EXPECT_GT(bounds[i].exact, 0.0f);
    EXPECT_LE(bounds[i].exact, std::max(2.0 * u * size, nf4::smallest_step(type_)));
    EXPECT_GE(bounds[i].exact, u * size);
    if (type_ == OutputType::kFloat32) {
      EXPECT_EQ(bounds[i].rounded, bounds[i].exact);
    } else {
      EXPECT_NEAR(bounds[i].rounded, 4.0 * u * scale, 1e-6 * scale);
    }
  }
}

TEST_P(ProductProbes, VisitASampleOfTheInputsWhenAllAreTooMany) {
  settings_.verify = record::VerifyScope::kSampled;
  const Probe walk = probes().at(0);
  EXPECT_EQ(walk.steps, 16);
  std::set<std::size_t> seen;
  for (std::int64_t i = 0; i < walk.steps; ++i) {
    const std::vector<double> x = nf4::to_doubles(type_, walk.make(weight_, i).input);
    for (std::size_t at = 0; at < x.size(); ++at) {
      if (x[at] != 0.0) seen.insert(at % kInputs);
    }
  }
  EXPECT_EQ(seen.size(), 64u);  // one of each of 64 stretches of two or three
  settings_.seed = 43;
  EXPECT_NE(probes().at(0).make(weight_, 0).input, walk.make(weight_, 0).input);
}

TEST_P(ProductProbes, ABlockWithoutANumberLeavesOtherRowsAsTheyAre) {
  nf4::Nf4Tensor weight = weight_;
  weight.absmax_codes[3] = 255;  // elements 192 to 255, of row 1
  weight.nested_map[255] = std::numeric_limits<float>::infinity();
  for (std::size_t i = 0; i < weight.absmax_codes.size(); ++i) {
    if (i != 3 && weight.absmax_codes[i] == 255) weight.absmax_codes[i] = 254;
  }
  const auto bounds = bounds_in(probes().at(0).make(weight, 0));
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    EXPECT_EQ(std::isnan(bounds[i].value), i % kOutputs == 1) << i;
  }
}

TEST_P(ProductProbes, WantAllBitsOfSumsThatAreExact) {
  if (type_ == OutputType::kFloat32) {
    EXPECT_EQ(probes().size(), 4u);
    return;
  }
  ASSERT_EQ(probes().size(), 5u);
  const Probe probe = probes().at(1);
  const nf4::Nf4Tensor weight = probe.change(weight_);
  const ProbeStep step = probe.make(weight, 0);
  const std::vector<double> x = nf4::to_doubles(type_, step.input);
  const std::vector<double> w = nf4::to_doubles(type_, nf4::reference_dequantize(weight, type_));
  const auto bounds = bounds_in(step);
  ASSERT_EQ(bounds.size(), 4u * kOutputs);
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    float forth = 0.0f;
    float back = 0.0f;
    for (std::size_t k = 0; k < kInputs; ++k) {
      const auto product = [&](std::size_t at) {
        return static_cast<float>(x[i / kOutputs * kInputs + at] * w[i % kOutputs * kInputs + at]);
      };
      forth += product(k);
      back += product(kInputs - 1 - k);
    }
    EXPECT_EQ(forth, back);
    const double y = nf4::value_at(type_, nf4::to_values(type_, {{forth}}), 0);
    EXPECT_EQ(bounds[i].value, y);
    EXPECT_EQ(bounds[i].exact, 0.0f);
    EXPECT_GT(bounds[i].rounded, 0.0f);
  }
}

// Three sets of inputs in two calls of two tokens.
TEST_P(ProductProbes, TellEveryCodeInSomeSumOfSigns) {
  constexpr std::int64_t kMany = 1100;
  nf4::Nf4Tensor weight = nf4::make_synthetic({.shape = {kOutputs, kMany}});
  problem_ = operation::problem_of(weight, type_);
  problem_.tokens = 2;
  const Probe probe = *(probes().end() - 3);
  ASSERT_EQ(probe.steps, 2);
  weight = probe.change(weight);
  const std::vector<double> w = nf4::to_doubles(type_, nf4::reference_dequantize(weight, type_));
  std::set<std::size_t> seen;
  for (std::int64_t i = 0; i < probe.steps; ++i) {
    const ProbeStep step = probe.make(weight, i);
    const std::vector<double> x = nf4::to_doubles(type_, step.input);
    const auto bounds = bounds_in(step);
    ASSERT_EQ(bounds.size(), 2u * kOutputs);
    for (std::size_t at = 0; at < bounds.size(); ++at) {
      const std::size_t m = at / kOutputs;
      const std::size_t n = at % kOutputs;
      double y = 0.0;
      for (std::size_t k = 0; k < kMany; ++k) y += x[m * kMany + k] * w[n * kMany + k];
      EXPECT_EQ(bounds[at].value, y);
      EXPECT_EQ(bounds[at].exact, 0.0f);
      for (std::size_t k = 0; k < kMany; ++k) {
        if (x[m * kMany + k] == 0.0) continue;
        seen.insert(n * kMany + k);
        // The codes next to those of -1 and 1, under scales 1 and 2.
        const double next =
            w[n * kMany + k] < 0.0 ? nf4::codebook_value(1) : nf4::codebook_value(14);
        const double wrong =
            y + x[m * kMany + k] * (next * std::fabs(w[n * kMany + k]) - w[n * kMany + k]);
        const double got = nf4::value_at(type_, nf4::to_values(type_, {{wrong}}), 0);
        EXPECT_GT(std::fabs(got - y), bounds[at].rounded) << y;
      }
    }
  }
  EXPECT_EQ(seen.size(), w.size());
}

TEST_P(ProductProbes, PutNanAndInfinityIntoOneTokenEach) {
  const Probe probe = *(probes().end() - 2);
  ASSERT_EQ(probe.steps, 3);
  const auto odd_outputs = [&](std::int64_t step) {
    std::set<std::size_t> tokens;
    const auto bounds = bounds_in(probe.make(weight_, step));
    for (std::size_t i = 0; i < bounds.size(); ++i) {
      if (!std::isfinite(bounds[i].value)) tokens.insert(i / kOutputs);
    }
    return tokens;
  };
  EXPECT_EQ(odd_outputs(0), (std::set<std::size_t>{}));
  EXPECT_EQ(odd_outputs(1), (std::set<std::size_t>{0}));
  EXPECT_EQ(odd_outputs(2), (std::set<std::size_t>{1}));
}

TEST_P(ProductProbes, MakeOneScaleInfiniteAndOneNan) {
  for (const nf4::AbsmaxKind kind : {nf4::AbsmaxKind::kPlain, nf4::AbsmaxKind::kNested}) {
    const nf4::Nf4Tensor weight =
        nf4::make_synthetic({.shape = {kOutputs, kInputs}, .absmax_kind = kind});
    const nf4::Nf4Tensor odd = probes().back().change(weight);
    int infinite = 0;
    int nan = 0;
    for (std::int64_t block = 0; block < odd.blocks(); ++block) {
      infinite += std::isinf(nf4::block_scale(odd, block)) ? 1 : 0;
      nan += std::isnan(nf4::block_scale(odd, block)) ? 1 : 0;
    }
    EXPECT_EQ(infinite, 1);
    EXPECT_EQ(nan, 1);
    int finite = 0;
    for (const auto& bound : bounds_in(probes().back().make(odd, 0))) {
      finite += std::isfinite(bound.value) ? 1 : 0;
    }
    EXPECT_GE(finite, 4);  // a row without such a block, for each token
  }
}

INSTANTIATE_TEST_SUITE_P(Types, ProductProbes, testing::ValuesIn(nf4::kOutputTypes),
                         [](const auto& type) { return to_string(type.param); });

// What a walk costs is bounded by its steps on a GPU, and by its products on a CPU.
TEST(ProductProbesOfLargeWeights, AreBounded) {
  const auto steps_of = [](std::int64_t tokens, record::DeviceKind device) {
    const bool is_gpu = device == record::DeviceKind::kCuda;
    kernels::Problem problem = operation::problem_of(
        operation::WeightSize{{is_gpu ? 28672 : 4096, 8192}}, OutputType::kBfloat16);
    problem.tokens = tokens;
    return operation::product_probes(problem, {}, device).at(0).steps;
  };
  EXPECT_EQ(steps_of(64, record::DeviceKind::kCuda), 128);
  EXPECT_EQ(steps_of(16, record::DeviceKind::kCuda), 512);
  EXPECT_EQ(steps_of(15, record::DeviceKind::kCuda), 39);  // of 2^24 outputs
  EXPECT_EQ(steps_of(1, record::DeviceKind::kCuda), 512);
  EXPECT_EQ(steps_of(1, record::DeviceKind::kCpu), 8);
  EXPECT_EQ(steps_of(64, record::DeviceKind::kCpu), 1);
}

TEST(ProductProbesOfLargeWeights, ShowEveryCode) {
  const auto seen = [](std::int64_t tokens, record::DeviceKind device) {
    kernels::Problem problem =
        operation::problem_of(operation::WeightSize{{4096, 14336}}, OutputType::kBfloat16);
    problem.tokens = tokens;
    return operation::product_inputs_seen(problem, {}, device);
  };
  for (const std::int64_t tokens : {1, 8, 512}) {
    EXPECT_EQ(seen(tokens, record::DeviceKind::kCuda).summed, 14336) << tokens;
    EXPECT_EQ(seen(tokens, record::DeviceKind::kCpu).summed, 14336) << tokens;
  }
  EXPECT_EQ(seen(1, record::DeviceKind::kCuda).alone, 512);
  EXPECT_EQ(seen(1, record::DeviceKind::kCpu).alone, 4);
}

TEST(ProductProbesOfNothing, AreNone) {
  const kernels::Problem problem =
      operation::problem_of(operation::WeightSize{{0, 64}}, OutputType::kFloat16);
  EXPECT_TRUE(operation::product_probes(problem, {}, record::DeviceKind::kCpu).empty());
}

}  // namespace
}  // namespace nf4bench
