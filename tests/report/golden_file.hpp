#pragma once

#include "source_dir.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

namespace nf4bench {

inline std::string golden_path(const std::string& name) {
  return std::string(NF4BENCH_SOURCE_DIR) + "/tests/report/golden/" + name;
}

inline std::string read_golden(const std::string& name) {
  std::ifstream file(golden_path(name), std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Expects `text` to be what tests/report/golden/`name` holds. With NF4BENCH_UPDATE_GOLDEN set it is
// written there instead and the test fails, so that nobody forgets to look at the difference.
inline void expect_golden(const std::string& name, const std::string& text) {
  if (std::getenv("NF4BENCH_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(golden_path(name), std::ios::binary) << text;
    FAIL() << "wrote " << golden_path(name) << ": look at it, then run without the variable";
  }
  EXPECT_EQ(text, read_golden(name));
}

}  // namespace nf4bench
