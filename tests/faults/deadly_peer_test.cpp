// A peer in this program's own process whose kernel never ends, or takes the process with it. Each
// is harmless at the first shape and deadly at the second.

#include "cli/outcome.hpp"
#include "faults/short_run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

namespace nf4bench::test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

Command deadly_run(const std::string& variant, const std::string& report,
                   const std::vector<std::string>& more) {
  Command command =
      nf4bench_command(short_run(report, {"--in-process", "--variant", "simd,mine." + variant,
                                          "--peer", "mine=" TEST_PEER_SCRIPTED, "--shape", "64x64",
                                          "--shape", "128x64", "--shape", "256x64"}));
  command.arguments.insert(command.arguments.end(), more.begin(), more.end());
  command.environment.emplace_back("NF4BENCH_TEST_PEER=deadly");
  return command;
}

// Status and reason of a variant's row for the tensor `id`.
std::pair<std::string, std::string> row_of(const json& report, const std::string& id,
                                           const std::string& variant) {
  for (const json& row : report.at("measurements")) {
    if (row.at("tensor") != id || row.at("variant") != variant) continue;
    const json& reason = row.at("reason");
    return {row.at("status"), reason.is_null() ? "" : reason.get<std::string>()};
  }
  return {"absent", ""};
}

TEST(HungPeer, EndsTheRunAfterItsTimeAndTheReportSaysSo) {
  const ScratchFolder scratch;
  const std::string path = scratch.path("report.json");
  const auto started = std::chrono::steady_clock::now();
  const Outcome outcome = Process(deadly_run("hangs", path, {"--call-timeout", "0.3"})).wait();
  EXPECT_LT(std::chrono::steady_clock::now() - started, std::chrono::seconds(20));
  EXPECT_EQ(outcome.exit_code, 5);
  EXPECT_THAT(outcome.err, HasSubstr("nf4bench: error: mine.hangs did not return within 0.3 s"));
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  const json report = report_at(path);
  EXPECT_EQ(report.at("complete"), false);
  EXPECT_EQ(row_of(report, "t0", "mine.hangs").first, "passed");
  EXPECT_EQ(row_of(report, "t1", "mine.hangs"),
            (std::pair<std::string, std::string>{"failed", "did not return within 0.3 s"}));
  EXPECT_EQ(row_of(report, "t1", "simd"),
            (std::pair<std::string, std::string>{
                "skipped", "not finished: the device was lost to mine.hangs"}));
  EXPECT_EQ(row_of(report, "t2", "simd").first, "absent");
  EXPECT_THAT(report.at("warnings").get<std::vector<std::string>>(),
              Contains(HasSubstr("the run ended early: mine.hangs did not return")));
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("mine.hangs"), HasSubstr("did not return")));
}

TEST(HungPeer, LeavesNothingButTheReport) {
  const ScratchFolder scratch;
  Process(deadly_run("hangs", scratch.path("report.json"), {"--call-timeout", "0.3"})).wait();
  const std::filesystem::directory_iterator folder(scratch.path(""));
  EXPECT_EQ(std::distance(begin(folder), end(folder)), 1);
}

TEST(HungPeer, WithTheReportOnStdoutStillPrintsIt) {
  const Outcome outcome =
      Process(deadly_run("hangs", "-", {"--call-timeout", "0.3", "--quiet"})).wait();
  EXPECT_EQ(outcome.exit_code, 5);
  EXPECT_EQ(json::parse(outcome.out).at("complete"), false);
}

TEST(CrashingPeer, LeavesTheReportSoFarAndTheNextRunCleansUp) {
  const ScratchFolder scratch;
  const std::string path = scratch.path("report.json");
  EXPECT_THAT(Process(deadly_run("crashes", path, {})).wait(), Ends(128 + 11));
  EXPECT_EQ(report_at(path).at("complete"), false);
  EXPECT_EQ(nf4bench(short_run(path, {"--shape", "64x64", "--quiet"})).exit_code, 0);
  EXPECT_EQ(report_at(path).at("complete"), true);
  const std::filesystem::directory_iterator folder(scratch.path(""));
  EXPECT_EQ(std::distance(begin(folder), end(folder)), 1);
}

}  // namespace
}  // namespace nf4bench::test
