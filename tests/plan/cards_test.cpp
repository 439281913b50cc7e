#include "plan/cards.hpp"

#include "error_of.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace nf4bench {
namespace {

// Callers may take the word from anywhere.
TEST(Cards, RefuseATypeThatIsNone) {
  plan::CardQuestion asked;
  asked.dtype = "int8";
  EXPECT_THAT(test::error_of(ErrorKind::kUsage, [&] { plan::sheet_of_cards(asked); }),
              testing::HasSubstr("--dtype: "));
}

TEST(Cards, RefuseCodeThatNoneOfThemRuns) {
  plan::CardQuestion asked;
  asked.name = "RTX 4090";
  asked.compute_capability = 80;
  EXPECT_EQ(plan::sheet_of_cards(asked).sections.size(), 1u);
  asked.compute_capability = 90;
  EXPECT_THAT(test::error_of(ErrorKind::kUsage, [&] { plan::sheet_of_cards(asked); }),
              testing::HasSubstr("--compute-capability: found 90, which no such card runs; wanted "
                                 "at most 89"));
}

}  // namespace
}  // namespace nf4bench
