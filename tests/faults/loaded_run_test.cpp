// A run while other programs use all processors.

#include "cli/process.hpp"
#include "device/burners.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <sched.h>
#include <string>
#include <vector>

namespace nf4bench::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

std::vector<int> allowed_processors() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  sched_getaffinity(0, sizeof(allowed), &allowed);
  std::vector<int> processors;
  for (int processor = 0; processor < CPU_SETSIZE; ++processor) {
    if (CPU_ISSET(processor, &allowed)) processors.push_back(processor);
  }
  return processors;
}

TEST(LoadedRun, SaysThatItIsAndRanksBySpeedups) {
  const ScratchFolder scratch;
  const std::string path = scratch.path("busy.json");
  const Burners burners(allowed_processors());
  const Outcome outcome = nf4bench({"run", "--device", "cpu", "--shape", "512x512", "--variant",
                                    "lut,simd", "--baseline", "lut", "--max-time", "1",
                                    "--precision", "0", "--no-ceilings", "--json", path});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("Busy machine: "));
  EXPECT_THAT(outcome.out, HasSubstr("\n* simd"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("\n* lut")));
  EXPECT_THAT(outcome.out, HasSubstr("warning: Other programs kept"));
  const json report = json::parse(read_file(path));
  ASSERT_EQ(report["measurements"].size(), 2u);
  for (const json& row : report["measurements"]) {
    EXPECT_TRUE(row["load"]["disturbed"]) << row["load"];
    EXPECT_GT(row["load"]["involuntary_switches"], 0);
  }
  const Outcome compared = nf4bench({"compare", path, "--base", path});
  EXPECT_THAT(compared.out, HasSubstr("2 UNSURE"));
}

}  // namespace
}  // namespace nf4bench::test
