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

}  // namespace
}  // namespace nf4bench
