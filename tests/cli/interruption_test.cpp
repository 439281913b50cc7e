#include "cli/outcome.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

namespace nf4bench::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

// Far longer than the test waits: it ends by the signal or not at all.
std::vector<std::string> endless_run(const std::string& report) {
  return {"run",       "--device",       "cpu",     "--shape",         "512x512",
          "--variant", "lut,multi_pass", "--dtype", "float16,float32", "--max-time",
          "3600",      "--min-samples",  "1000000", "--precision",     "0",
          "--json",    report,           "--quiet"};
}

void wait_for(const std::string& path) {
  for (int i = 0; i < 2000 && !std::filesystem::exists(path); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  // The report is there before the first measurement; let the timing begin.
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
}

Outcome interrupted_run(const std::string& report, int signal) {
  Process process(nf4bench_command(endless_run(report)));
  wait_for(report);
  process.send(signal);
  return process.wait();
}

TEST(Interruption, BySigintOrSigtermLeavesAValidPartialReportAndNothingElse) {
  for (const int signal : {SIGINT, SIGTERM}) {
    const ScratchFolder scratch;
    const std::string path = scratch.path("report.json");
    EXPECT_THAT(interrupted_run(path, signal), Ends(128 + signal, HasSubstr("interrupted")));
    const json report = json::parse(read_file(path));
    EXPECT_EQ(report.at("complete"), false);
    EXPECT_EQ(report.at("tensors").size(), 1u);
    const std::filesystem::directory_iterator folder(scratch.path(""));
    EXPECT_EQ(std::distance(begin(folder), end(folder)), 1);
  }
}

TEST(Interruption, ReportOnDiskIsIncompleteWhileTheRunGoesOn) {
  const ScratchFolder scratch;
  const std::string path = scratch.path("report.json");
  const Process process(nf4bench_command(endless_run(path)));
  wait_for(path);
  EXPECT_EQ(json::parse(read_file(path)).at("complete"), false);
}

TEST(Interruption, WithTheReportOnStdoutStillPrintsIt) {
  const ScratchFolder scratch;
  Process process(nf4bench_command(endless_run("-")));
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  process.send(SIGINT);
  const Outcome outcome = process.wait();
  EXPECT_EQ(outcome.exit_code, 130);
  EXPECT_EQ(json::parse(outcome.out).at("complete"), false);
}

}  // namespace
}  // namespace nf4bench::test
