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

}  // namespace
}  // namespace nf4bench
