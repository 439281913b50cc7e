#include "plan/experts.hpp"

#include "error_of.hpp"
#include "nf4/matrices.hpp"
#include "nf4/reference.hpp"
#include "nf4/synthetic.hpp"
#include "operation/weight.hpp"
#include "plan/sources.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace nf4bench {
namespace {

using test::error_of;
using testing::AllOf;
using testing::HasSubstr;

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
  const auto split = [&] { plan::split_stacks({source("gate_up", {3, 5, 7}, &loads)}); };
  EXPECT_THAT(error_of(ErrorKind::kUsage, split),
              AllOf(HasSubstr("gate_up"), HasSubstr("block of 64")));
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

TEST(WholeStacks, MakeLayersWithTheActivationOfTheirModel) {
  record::RunOptions options;
  options.operations = {"experts"};
  options.presets = {"gpt-oss-20b", "gemma-4-26b-a4b", "mixtral-8x7b"};
  options.parts = {record::StackPart::kLayer};
  const plan::Sources sources = plan::find_sources(options);
  const auto layers = plan::whole_stacks(sources.tensors, options);
  ASSERT_EQ(layers.size(), 3u);
  EXPECT_EQ(layers[0].geometry.stack->activation, record::Activation::kGptOss);
  EXPECT_EQ(layers[1].geometry.stack->activation, record::Activation::kGeluTanh);
  EXPECT_EQ(layers[2].geometry.stack->activation, record::Activation::kSilu);
  EXPECT_EQ(layers[2].geometry.shape, (std::vector<std::int64_t>{8, 3 * 14336, 4096}));
  options.activation = record::Activation::kRelu2;
  EXPECT_EQ(plan::whole_stacks(sources.tensors, options)[2].geometry.shape,
            (std::vector<std::int64_t>{8, 2 * 14336, 4096}));
}

// As a model's files have them, or as somebody says: shapes are those of the files.
TEST(WholeStacks, OfTransposedMatricesKeepTheirSizes) {
  record::RunOptions options;
  options.operations = {"experts"};
  options.presets = {"gpt-oss-20b", "mixtral-8x7b"};
  using enum record::StackPart;
  options.parts = {kGateUp, kDown, kLayer};
  using Shape = std::vector<std::int64_t>;
  const auto check = [&](bool is_mixtral_transposed) {
    const auto stacks = plan::whole_stacks(plan::find_sources(options).tensors, options);
    ASSERT_EQ(stacks.size(), 6u);
    EXPECT_EQ(stacks[0].geometry.shape, (Shape{32, 2880, 5760}));
    EXPECT_TRUE(stacks[0].geometry.stack->transposed);
    EXPECT_EQ(stacks[2].geometry.shape,
              (is_mixtral_transposed ? Shape{8, 4096, 28672} : Shape{8, 28672, 4096}));
    EXPECT_EQ(stacks[2].geometry.stack->transposed, is_mixtral_transposed);
    EXPECT_EQ(stacks[4].geometry.shape, (Shape{32, 3 * 2880, 2880}));
    EXPECT_TRUE(stacks[4].geometry.stack->transposed);
    EXPECT_EQ(stacks[5].geometry.shape, (Shape{8, 3 * 14336, 4096}));
    EXPECT_EQ(stacks[5].geometry.stack->transposed, is_mixtral_transposed);
    const record::Geometry& up = stacks[2].geometry;
    const kernels::Problem problem = operation::problem_of(
        {up.shape, up.blocksize, up.absmax_kind, up.stack}, nf4::OutputType::kBfloat16);
    EXPECT_EQ(problem.outputs, 28672);
    EXPECT_EQ(problem.inputs, 4096);
    EXPECT_EQ(problem.transposed, is_mixtral_transposed);
  };
  check(false);
  options.transposed = true;
  check(true);
}

// Whatever their order in the file.
TEST(WholeStacks, AreJoinedFromMatricesOfSingleExperts) {
  int loads = 0;
  std::vector<plan::TensorSource> sources;
  for (const char* name : {"down_proj", "gate_proj", "up_proj"}) {
    const bool is_down = name == std::string("down_proj");
    for (const std::int64_t expert : {10, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9}) {
      sources.push_back(source(
          "mlp.experts." + std::to_string(expert) + "." + name + ".weight",
          is_down ? std::vector<std::int64_t>{64, 32} : std::vector<std::int64_t>{32, 64}, &loads));
      sources.back().top_k = 2;
    }
  }
  const auto stacks = plan::whole_stacks(sources, {});
  ASSERT_EQ(stacks.size(), 2u);
  EXPECT_EQ(stacks[0].name, "mlp.experts.gate_up_proj");
  EXPECT_EQ(stacks[1].name, "mlp.experts.down_proj");
  EXPECT_EQ(stacks[0].geometry.shape, (std::vector<std::int64_t>{11, 64, 64}));
  EXPECT_EQ(stacks[1].geometry.shape, (std::vector<std::int64_t>{11, 64, 32}));
  EXPECT_EQ(stacks[0].geometry.stack, (record::Stack{record::StackPart::kGateUp, 2}));
  EXPECT_EQ(stacks[1].geometry.stack, (record::Stack{record::StackPart::kDown, 2}));
  const nf4::Nf4Tensor whole = stacks[0].load();
  nf4::validate(whole);
  const auto type = nf4::OutputType::kFloat32;
  for (const std::int64_t expert : {0, 3, 10}) {
    const std::string name = "mlp.experts." + std::to_string(expert) + ".up_proj.weight";
    const auto up = nf4::make_synthetic({.name = name, .shape = {32, 64}});
    std::vector<std::byte> part(32 * 64 * sizeof(float));
    nf4::reference_dequantize(whole, type, {(expert * 64 + 32) * 64, 32 * 64}, part);
    EXPECT_EQ(part, nf4::reference_dequantize(up, type)) << expert;
  }
  record::RunOptions options;
  options.parts = {record::StackPart::kLayer};
  const auto layers = plan::whole_stacks(sources, options);
  ASSERT_EQ(layers.size(), 1u);
  EXPECT_EQ(layers[0].name, "mlp.experts");
  EXPECT_EQ(layers[0].geometry.shape, (std::vector<std::int64_t>{11, 96, 64}));
  nf4::validate(layers[0].load());
}

void expect_no_stack(const std::vector<plan::TensorSource>& sources, const std::string& word) {
  record::RunOptions options;
  options.top_k = 1;
  EXPECT_THAT(error_of(ErrorKind::kUsage, [&] { plan::whole_stacks(sources, options); }),
              HasSubstr(word));
}

TEST(WholeStacks, AreNotJoinedWhereAnExpertIsMissingOrAnother) {
  int loads = 0;
  const auto up = [&](const std::string& number, std::vector<std::int64_t> shape) {
    return source("experts." + number + ".w3", std::move(shape), &loads);
  };
  expect_no_stack({up("0", {32, 64}), up("2", {32, 64})}, "expert 1 is missing");
  expect_no_stack({up("0", {32, 64}), up("1", {16, 64})}, "is 32x64 in blocks of 64");
  expect_no_stack({up("0", {32, 64}), up("1", {32, 64}), source("experts.0.w1", {32, 64}, &loads)},
                  "expert 1 lacks one");
  EXPECT_EQ(loads, 0);
}

}  // namespace
}  // namespace nf4bench
