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

}  // namespace
}  // namespace nf4bench
