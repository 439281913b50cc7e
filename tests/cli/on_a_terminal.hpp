#pragma once

#include "cli/process.hpp"

#include <gtest/gtest.h>

namespace nf4bench::test {

// For tests that give the program a terminal; skipped where there is none to give.
class OnATerminal : public testing::Test {
 protected:
  void SetUp() override {
    const std::string why = why_no_terminal();
    if (!why.empty()) GTEST_SKIP() << why;
  }
};

}  // namespace nf4bench::test
