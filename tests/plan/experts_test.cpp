#include "plan/experts.hpp"

#include "base/error.hpp"
#include "nf4/matrices.hpp"
#include "nf4/synthetic.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace nf4bench {
namespace {

// A source that counts in `loads` how often it is read.
plan::TensorSource source(const std::string& name, std::vector<std::int64_t> shape, int* loads) {
  const nf4::SyntheticSpec spec = {.name = name, .shape = std::move(shape)};
  plan::TensorSource result;
  result.name = name;
  result.geometry = {.shape = spec.shape, .absmax_kind = nf4::AbsmaxKind::kNested};
  result.multiplicity = 2;
  result.load = [spec, loads] {
    ++*loads;
    return nf4::make_synthetic(spec);
  };
  return result;
}

TEST(Experts, StandEachForThemselves) {
  int loads = 0;
  const auto split =
      plan::split_stacks({source("a", {32, 64}, &loads), source("b", {3, 64, 64}, &loads)});
  ASSERT_EQ(split.size(), 4u);
  EXPECT_EQ(split[0].name, "a");
  for (std::size_t i = 1; i < split.size(); ++i) {
    EXPECT_EQ(split[i].name, "b[" + std::to_string(i - 1) + "]");
    EXPECT_EQ(split[i].geometry.shape, (std::vector<std::int64_t>{64, 64}));
    EXPECT_EQ(split[i].multiplicity, 2);
    const nf4::Nf4Tensor matrix = split[i].load();
    EXPECT_EQ(matrix.name, split[i].name);
    EXPECT_EQ(matrix.absmax_kind, split[i].geometry.absmax_kind);
  }
}

TEST(Experts, AreReadOnceInTheOrderInWhichARunReadsThem) {
  int loads = 0;
  const auto split =
      plan::split_stacks({source("a", {4, 64, 64}, &loads), source("b", {2, 64, 64}, &loads)});
  for (const std::size_t i : {1, 2, 3, 0}) (void)split[i].load();
  EXPECT_EQ(loads, 1);
  for (const std::size_t i : {5, 4}) (void)split[i].load();
  EXPECT_EQ(loads, 2);
  EXPECT_EQ(split[0].load().packed,
            nf4::matrix_of(nf4::make_synthetic({.name = "a", .shape = {4, 64, 64}}), 0).packed);
  EXPECT_EQ(loads, 3);
}

TEST(Experts, AreRefusedWhereOneDoesNotBeginWithABlock) {
  int loads = 0;
  try {
    plan::split_stacks({source("gate_up", {3, 5, 7}, &loads)});
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    EXPECT_NE(std::string(error.what()).find("gate_up"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("block of 64"), std::string::npos);
  }
  EXPECT_EQ(loads, 0);
}

TEST(WholeStacks, AreThosePartsThatAreAskedFor) {
  int loads = 0;
  const std::vector<plan::TensorSource> sources = {
      source("q_proj", {32, 64}, &loads), source("mlp.experts.gate_up_proj", {3, 64, 64}, &loads),
      source("mlp.experts.down_proj", {3, 64, 32}, &loads), source("3x64x64", {3, 64, 64}, &loads)};
  record::RunOptions options;
  options.top_k = 2;
  const auto all = plan::whole_stacks(sources, options);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].geometry.stack, (record::Stack{record::StackPart::kGateUp, 2}));
  EXPECT_EQ(all[1].geometry.stack, (record::Stack{record::StackPart::kDown, 2}));
  EXPECT_EQ(all[2].geometry.stack, (record::Stack{record::StackPart::kGateUp, 2}));
  options.parts = {record::StackPart::kDown};
  const auto down = plan::whole_stacks(sources, options);
  ASSERT_EQ(down.size(), 2u);
  EXPECT_EQ(down[0].name, "mlp.experts.down_proj");
  EXPECT_EQ(down[1].name, "3x64x64");
  EXPECT_EQ(down[1].geometry.stack, (record::Stack{record::StackPart::kDown, 2}));
  EXPECT_EQ(loads, 0);
}

TEST(WholeStacks, HaveTheTopKOfTheirPresetUnlessAnotherIsAskedFor) {
  int loads = 0;
  plan::TensorSource stack = source("experts gate_up_proj", {8, 64, 64}, &loads);
  stack.geometry.stack = {record::StackPart::kGateUp, 3};
  EXPECT_EQ(plan::whole_stacks({stack}, {}).front().geometry.stack->top_k, 3);
  record::RunOptions options;
  options.top_k = 5;
  EXPECT_EQ(plan::whole_stacks({stack}, options).front().geometry.stack->top_k, 5);
  options.top_k = 9;
  EXPECT_THROW(plan::whole_stacks({stack}, options), Error);
  stack.geometry.stack.reset();
  EXPECT_THROW(plan::whole_stacks({stack}, {}), Error);
  EXPECT_THROW(plan::whole_stacks({source("q_proj", {32, 64}, &loads)}, options), Error);
}

}  // namespace
}  // namespace nf4bench
