#include "cli/options/choices.hpp"

#include "base/error.hpp"

#include <gtest/gtest.h>

namespace nf4bench {
namespace {

TEST(OutputTypes, StoredMeansTheTypeThatEachTensorNames) {
  EXPECT_TRUE(cli::parse_output_types({"stored"}).empty());
  EXPECT_THROW(cli::parse_output_types({"stored", "float16"}), Error);
}

TEST(OutputTypes, AWordGivenTwiceCountsOnce) {
  EXPECT_EQ(cli::parse_output_types({"float32", "float16", "float32"}),
            (std::vector<nf4::OutputType>{nf4::OutputType::kFloat32, nf4::OutputType::kFloat16}));
}

TEST(Choices, TypesHaveTheNamesThatTablesPrint) {
  using nf4::OutputType;
  EXPECT_EQ(cli::parse_output_types({"bf16", "fp16", "fp32", "half"}),
            (std::vector{OutputType::kBfloat16, OutputType::kFloat16, OutputType::kFloat32}));
  EXPECT_EQ(cli::parse_output_type("bf16"), OutputType::kBfloat16);
}

}  // namespace
}  // namespace nf4bench
