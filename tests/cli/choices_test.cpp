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

TEST(DidYouMean, NamesWhatIsNearButNotAllThereIs) {
  EXPECT_EQ(cli::did_you_mean("bas", {"bash", "zsh", "fish"}), " Did you mean bash?");
  EXPECT_EQ(cli::did_you_mean("ksh", {"bash", "zsh", "fish"}), " Did you mean zsh?");
  EXPECT_EQ(cli::did_you_mean("tcsh", {"bash", "zsh", "fish"}), "");
  EXPECT_EQ(cli::did_you_mean("hott", {"hot"}), " Did you mean hot?");
}

TEST(DeviceName, IsCheckedForItsSpelling) {
  for (const char* good : {"auto", "cpu", "cuda", "cuda:0", "cuda:15"}) {
    EXPECT_NO_THROW(cli::check_device_name(good)) << good;
  }
  for (const char* bad : {"", "gpu", "cuda:", "cuda:x", "cuda:-1", "cuda0", "cpu:0", "CUDA",
                          "cuda:99999999999999999999"}) {
    EXPECT_THROW(cli::check_device_name(bad), Error) << bad;
  }
}

}  // namespace
}  // namespace nf4bench
