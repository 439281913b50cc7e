// kill -9 at random moments of 200 short runs that write one report.

#include "faults/short_run.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <iterator>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace nf4bench::test {
namespace {

namespace fs = std::filesystem;

constexpr int kRuns = 200;
constexpr int kLongestUs = 90'000;  // somewhat more than such a run takes

TEST(KillLoop, Of200RunsLeavesNoBrokenFile) {
  const ScratchFolder scratch;
  const std::string path = scratch.path("report.json");
  const std::vector<std::string> arguments = with_shapes(
      short_run(path, {"--quiet", "--min-samples", "50", "--precision", "1", "--threads", "1"}), 6);
  ASSERT_EQ(nf4bench(arguments).exit_code, 0);
  std::mt19937 random(9);
  int killed = 0;
  int partial = 0;
  std::ptrdiff_t most_files = 0;
  for (int i = 0; i < kRuns; ++i) {
    Process process(nf4bench_command(arguments));
    std::this_thread::sleep_for(std::chrono::microseconds(random() % kLongestUs));
    process.send(SIGKILL);
    if (process.wait().exit_code == 128 + SIGKILL) ++killed;
    const nlohmann::json report = report_at(path);  // throws when it is broken or cut short
    if (!report.at("complete").get<bool>()) ++partial;
    most_files = std::max(most_files, std::distance(fs::directory_iterator(scratch.path("")), {}));
  }
  fmt::print("{} of {} runs were killed, {} left a partial report, {} files at most\n", killed,
             kRuns, partial, most_files);
  EXPECT_GT(killed, kRuns / 2);
  EXPECT_LE(most_files, 3);  // the report, a lock, and what the last run was writing
  ASSERT_EQ(nf4bench(arguments).exit_code, 0);
  EXPECT_EQ(std::distance(fs::directory_iterator(scratch.path("")), {}), 1);
}

}  // namespace
}  // namespace nf4bench::test
