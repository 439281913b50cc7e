#pragma once

#include "base/error.hpp"

#include <gtest/gtest.h>

#include <string>

namespace nf4bench::test {

// What the error of `kind` says that `action` ends with; empty where it ends with none.
template <class Action>
std::string error_of(ErrorKind kind, Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    return error.what();
  }
  return "";
}

}  // namespace nf4bench::test
