#include "base/nearest_names.hpp"

#include <gtest/gtest.h>

namespace nf4bench {
namespace {

using Names = std::vector<std::string>;

TEST(NearestNames, AreSortedByDistance) {
  const Names names = {"fuse", "fused", "refused", "lut"};
  EXPECT_EQ(nearest_names("fusd", names), (Names{"fuse", "fused"}));
}

TEST(NearestNames, FindAWordWithinAName) {
  EXPECT_EQ(nearest_names("persistent", {"lop3_prmt", "warp_persistent"}),
            (Names{"warp_persistent"}));
}

TEST(NearestNames, AreOnlyTheNearestWhenAllAreNear) {
  EXPECT_EQ(nearest_names("ksh", {"bash", "zsh", "fish"}), (Names{"zsh"}));
  EXPECT_EQ(nearest_names("colt", {"cold", "hot"}), (Names{"cold"}));
}

TEST(NearestNames, AreAtMostThree) {
  EXPECT_EQ(nearest_names("aaaa", {"aaab", "aaac", "aaad", "aaae"}).size(), 3u);
}

TEST(NearestNames, AreNoneForAWordOfOtherLetters) {
  EXPECT_TRUE(nearest_names("xy", {"ab", "fused"}).empty());
  EXPECT_TRUE(nearest_names("", {"ab", "fused"}).empty());
}

TEST(DidYouMean, NamesWhatIsNearButNotAllThereIs) {
  EXPECT_EQ(did_you_mean("bas", {"bash", "zsh", "fish"}), " Did you mean bash?");
  EXPECT_EQ(did_you_mean("ksh", {"bash", "zsh", "fish"}), " Did you mean zsh?");
  EXPECT_EQ(did_you_mean("tcsh", {"bash", "zsh", "fish"}), "");
  EXPECT_EQ(did_you_mean("hott", {"hot"}), " Did you mean hot?");
}

}  // namespace
}  // namespace nf4bench
