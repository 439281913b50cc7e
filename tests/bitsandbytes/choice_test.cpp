// Which way bitsandbytes goes, by answers that were recorded from its own code.

#include "bitsandbytes/bitsandbytes.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>
#include <string>

namespace nf4bench {
namespace {

// "1-5,8-16" as numbers.
std::set<int> numbers_in(const std::string& ranges) {
  std::set<int> numbers;
  std::istringstream text(ranges);
  char mark = 0;
  for (int first = 0, last = 0; text >> first >> mark >> last; text >> mark) {
    for (int number = first; number <= last; ++number) numbers.insert(number);
  }
  return numbers;
}

nf4::OutputType type_named(const std::string& name) {
  for (const nf4::OutputType type : nf4::kOutputTypes) {
    if (name == to_string(type)) return type;
  }
  throw std::runtime_error("no type " + name);
}

TEST(BitsandbytesChoice, IsThatOfItsOwnCode) {
  std::ifstream record(TEST_BNB_CHOICES);
  int cases = 0;
  for (std::string line; std::getline(record, line);) {
    if (line.starts_with('#')) continue;
    SCOPED_TRACE(line);
    std::istringstream words(line);
    kernels::DeviceFacts device;
    kernels::Problem problem;
    std::string type, ranges;
    words >> device.compute_capability >> device.multiprocessors >> type >> problem.outputs >>
        problem.inputs >> ranges;
    ASSERT_TRUE(words);
    problem.output_type = type_named(type);
    const std::set<int> fused = numbers_in(ranges);
    for (int tokens = 1; tokens <= 1600; ++tokens) {
      problem.tokens = tokens;
      ASSERT_EQ(bitsandbytes::fuses(problem, device), fused.contains(tokens)) << tokens;
    }
    ++cases;
  }
  EXPECT_GT(cases, 250);
}

TEST(BitsandbytesChoice, FusesNothingWhereBlocksReachFromRowToRow) {
  kernels::Problem problem;
  problem.outputs = 1280;
  problem.inputs = 3420;
  problem.tokens = 1;
  problem.block_shift = 6;
  EXPECT_FALSE(bitsandbytes::fuses(problem, {.compute_capability = 90, .multiprocessors = 132}));
  problem.inputs = 3456;
  EXPECT_TRUE(bitsandbytes::fuses(problem, {.compute_capability = 90, .multiprocessors = 132}));
  problem.block_shift = 8;
  EXPECT_FALSE(bitsandbytes::fuses(problem, {.compute_capability = 90, .multiprocessors = 132}));
}

}  // namespace
}  // namespace nf4bench
