#include "base/error.hpp"

#include <gtest/gtest.h>

namespace nf4bench {
namespace {

TEST(Error, EveryKindHasItsDocumentedExitCode) {
  EXPECT_EQ(static_cast<int>(exit_code(ErrorKind::kUsage)), 2);
  EXPECT_EQ(static_cast<int>(exit_code(ErrorKind::kInput)), 3);
  EXPECT_EQ(static_cast<int>(exit_code(ErrorKind::kOutput)), 3);
  EXPECT_EQ(static_cast<int>(exit_code(ErrorKind::kVerification)), 4);
  EXPECT_EQ(static_cast<int>(exit_code(ErrorKind::kDevice)), 5);
}

}  // namespace
}  // namespace nf4bench
