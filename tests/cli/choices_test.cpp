#include "cli/choices.hpp"

#include "base/error.hpp"

#include <gtest/gtest.h>

namespace nf4bench {
namespace {

using Shape = std::vector<std::int64_t>;

TEST(Shape, MayHaveAnyRank) {
  EXPECT_EQ(parse_shape("100"), (Shape{100}));
  EXPECT_EQ(parse_shape("4096x14336"), (Shape{4096, 14336}));
  EXPECT_EQ(parse_shape("2x3x4x5"), (Shape{2, 3, 4, 5}));
}

TEST(Shape, LargestCountIsTwoToThe63MinusOne) {
  EXPECT_EQ(parse_shape("9223372036854775807"), (Shape{9223372036854775807}));
  EXPECT_THROW(parse_shape("9223372036854775808"), Error);
  EXPECT_THROW(parse_shape("4611686018427387904x2"), Error);
  EXPECT_NO_THROW(parse_shape("4611686018427387903x2"));
}

TEST(OutputTypes, StoredMeansTheTypeThatEachTensorNames) {
  EXPECT_TRUE(parse_output_types({"stored"}).empty());
  EXPECT_THROW(parse_output_types({"stored", "float16"}), Error);
}

TEST(OutputTypes, AWordGivenTwiceCountsOnce) {
  EXPECT_EQ(parse_output_types({"float32", "float16", "float32"}),
            (std::vector<OutputType>{OutputType::kFloat32, OutputType::kFloat16}));
}

TEST(DeviceName, IsCheckedForItsSpelling) {
  for (const char* good : {"auto", "cpu", "cuda", "cuda:0", "cuda:15"}) {
    EXPECT_NO_THROW(check_device_name(good)) << good;
  }
  for (const char* bad : {"", "gpu", "cuda:", "cuda:x", "cuda:-1", "cuda0", "cpu:0", "CUDA",
                          "cuda:99999999999999999999"}) {
    EXPECT_THROW(check_device_name(bad), Error) << bad;
  }
}

TEST(Blocksize, IsAPowerOfTwoFrom32To4096) {
  for (int good = 32; good <= 4096; good *= 2) EXPECT_EQ(check_blocksize(good), good);
  for (const int bad : {-64, 0, 16, 33, 48, 8192}) EXPECT_THROW(check_blocksize(bad), Error);
}

}  // namespace
}  // namespace nf4bench
