#include "plan/plan.hpp"

#include "error_of.hpp"

#include <gtest/gtest.h>

namespace nf4bench {
namespace {

using test::error_of;

plan::TensorSource source(const std::string& name, std::vector<std::int64_t> shape) {
  plan::TensorSource result;
  result.name = name;
  result.geometry.shape = std::move(shape);
  return result;
}

std::vector<kernels::Variant> catalogue() {
  std::vector<kernels::Variant> variants(4);
  variants[0].name = "multi_kernel";
  variants[1].name = "lut_shared";
  variants[2].name = "lut_shared_pair";
  variants[3].name = "fused";
  return variants;
}

std::vector<std::string> selected(const std::vector<std::string>& patterns) {
  std::vector<std::string> names;
  for (const plan::SelectedVariant& variant : plan::select_variants(catalogue(), patterns)) {
    names.push_back(variant.name);
  }
  return names;
}

std::string refusal(const std::vector<std::string>& patterns) {
  const std::string error =
      error_of(ErrorKind::kUsage, [&] { plan::select_variants(catalogue(), patterns); });
  EXPECT_FALSE(error.empty()) << "accepted";
  return error;
}

using Names = std::vector<std::string>;

TEST(Plan, TimesTheFirstTensorOfEachGeometryInOrderOfAppearance) {
  const auto plan = plan::plan_tensors(
      {source("a", {64, 64}), source("b", {128, 64}), source("c", {64, 64}), source("d", {64, 64})},
      plan::TensorChoice::kOnePerGeometry);
  ASSERT_EQ(plan.size(), 2u);
  EXPECT_EQ(plan[0].id, "t0");
  EXPECT_EQ(plan[0].source.name, "a");
  EXPECT_EQ(plan[0].multiplicity, 3);
  ASSERT_EQ(plan[0].verify_also.size(), 2u);
  EXPECT_EQ(plan[0].verify_also[0].name, "c");
  EXPECT_EQ(plan[0].verify_also[1].name, "d");
  EXPECT_EQ(plan[1].id, "t1");
  EXPECT_EQ(plan[1].source.name, "b");
  EXPECT_EQ(plan[1].multiplicity, 1);
  EXPECT_TRUE(plan[1].verify_also.empty());
}

TEST(Plan, TellsGeometriesApartByEachOfTheirParts) {
  plan::TensorSource transposed = source("transposed", {32, 64});
  plan::TensorSource blocks = source("blocks", {64, 32});
  blocks.geometry.blocksize = 128;
  plan::TensorSource plain = source("plain", {64, 32});
  plain.geometry.absmax_kind = nf4::AbsmaxKind::kPlain;
  plan::TensorSource half = source("half", {64, 32});
  half.dtype = nf4::OutputType::kFloat16;
  const auto plan = plan::plan_tensors({source("first", {64, 32}), transposed, blocks, plain, half},
                                       plan::TensorChoice::kOnePerGeometry);
  EXPECT_EQ(plan.size(), 5u);
}

TEST(Plan, IgnoresWhereATensorComesFrom) {
  plan::TensorSource other = source("other", {64, 32});
  other.source = "another file";
  const auto plan =
      plan::plan_tensors({source("first", {64, 32}), other}, plan::TensorChoice::kOnePerGeometry);
  EXPECT_EQ(plan.size(), 1u);
}

TEST(Plan, AddsUpTheMultiplicitiesOfSources) {
  plan::TensorSource many = source("many", {64, 64});
  many.multiplicity = 64;
  plan::TensorSource more = source("more", {64, 64});
  more.multiplicity = 32;
  const auto plan = plan::plan_tensors({many, more}, plan::TensorChoice::kOnePerGeometry);
  ASSERT_EQ(plan.size(), 1u);
  EXPECT_EQ(plan[0].multiplicity, 96);
}

TEST(Plan, OfAllTensorsTimesEach) {
  plan::TensorSource many = source("b", {64, 64});
  many.multiplicity = 7;
  const auto plan = plan::plan_tensors({source("a", {64, 64}), many, source("c", {64, 64})},
                                       plan::TensorChoice::kAll);
  ASSERT_EQ(plan.size(), 3u);
  EXPECT_EQ(plan[2].id, "t2");
  EXPECT_EQ(plan[1].multiplicity, 7);
  for (const plan::PlannedTensor& planned : plan) EXPECT_TRUE(planned.verify_also.empty());
}

TEST(Selection, OfNothingIsAll) {
  EXPECT_EQ(selected({}), (Names{"multi_kernel", "lut_shared", "lut_shared_pair", "fused"}));
}

TEST(Selection, KeepsCatalogueOrder) {
  EXPECT_EQ(selected({"fused", "multi_kernel"}), (Names{"multi_kernel", "fused"}));
}

TEST(Selection, FollowsWildcards) {
  EXPECT_EQ(selected({"lut_*"}), (Names{"lut_shared", "lut_shared_pair"}));
  EXPECT_EQ(selected({"?used"}), (Names{"fused"}));
  EXPECT_EQ(selected({"lut_shared"}), (Names{"lut_shared"}));
}

TEST(Selection, TakesAVariantOnceThatSeveralPatternsMatch) {
  EXPECT_EQ(selected({"lut_*", "lut_shared", "*pair"}), (Names{"lut_shared", "lut_shared_pair"}));
}

TEST(Selection, TakesAVariantTwiceForAPatternListedTwice) {
  const auto variants = plan::select_variants(catalogue(), {"fused", "lut_*", "fused"});
  ASSERT_EQ(variants.size(), 4u);
  EXPECT_EQ(variants[2].name, "fused");
  EXPECT_EQ(variants[3].name, "fused#2");
  EXPECT_STREQ(variants[3].variant.name, "fused");
}

TEST(Selection, NamesTheNearestForAMisspeltOne) {
  const std::string message = refusal({"fused", "lut_sharred"});
  EXPECT_NE(message.find("\"lut_sharred\""), std::string::npos) << message;
  EXPECT_NE(message.find("did you mean: lut_shared"), std::string::npos) << message;
  EXPECT_EQ(message.find("multi_kernel"), std::string::npos) << message;
}

TEST(Selection, ListsAllForAPatternThatResemblesNone) {
  const std::string message = refusal({"*zzz*"});
  for (const kernels::Variant& variant : catalogue()) {
    EXPECT_NE(message.find(variant.name), std::string::npos) << message;
  }
}

TEST(Selection, EscapesTheRefusedPattern) {
  EXPECT_EQ(refusal({"bad\x1b[31m"}).find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace nf4bench
