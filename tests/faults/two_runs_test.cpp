// Two runs at once: on one report, and on one device.

#include "cli/outcome.hpp"
#include "faults/short_run.hpp"

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

namespace fs = std::filesystem;
using nlohmann::json;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

// `locks` is the folder of the device locks; empty for none.
Command endless_run(const std::string& report, const std::string& locks) {
  Command command = nf4bench_command(test::endless_run(report));
  command.arguments.emplace_back("--quiet");
  command.environment.push_back("NF4BENCH_LOCKS=" + locks);
  return command;
}

Command quick_run(const std::string& report, const std::string& locks) {
  Command command = nf4bench_command(short_run(report, {"--shape", "64x64", "--quiet"}));
  command.environment.push_back("NF4BENCH_LOCKS=" + locks);
  return command;
}

void wait_for(const std::string& path) {
  for (int i = 0; i < 4000 && !fs::exists(path); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
}

TEST(TwoRuns, OnOneReportAreRefusedByTheSecond) {
  const ScratchFolder scratch;
  const std::string path = scratch.path("report.json");
  Process first(endless_run(path, ""));
  wait_for(path);
  EXPECT_THAT(Process(quick_run(path, "")).wait(),
              Ends(3, AllOf(HasSubstr(path), HasSubstr("another nf4bench (process " +
                                                       std::to_string(first.pid()) + ")"))));
  EXPECT_EQ(json::parse(read_file(path)).at("complete"), false);  // still the first one's
  first.send(SIGINT);
  EXPECT_EQ(first.wait().exit_code, 130);
  EXPECT_EQ(Process(quick_run(path, "")).wait().exit_code, 0);
}

TEST(TwoRuns, OnOneReportThroughALinkAreRefusedAsWell) {
  const ScratchFolder scratch;
  const std::string path = scratch.path("report.json");
  fs::create_symlink(path, scratch.path("link.json"));
  const Process first(endless_run(path, ""));
  wait_for(path);
  EXPECT_EQ(Process(quick_run(scratch.path("link.json"), "")).wait().exit_code, 3);
}

TEST(TwoRuns, AfterOneThatWasKilledGoOn) {
  const ScratchFolder scratch;
  const std::string path = scratch.path("report.json");
  {
    const Process first(endless_run(path, ""));
    wait_for(path);
  }  // killed
  EXPECT_TRUE(fs::exists(scratch.path(".report.json.lock")));
  EXPECT_EQ(Process(quick_run(path, "")).wait().exit_code, 0);
  EXPECT_FALSE(fs::exists(scratch.path(".report.json.lock")));
}

TEST(TwoRuns, OnOneDeviceWarnBothOnStderrAndInTheirReports) {
  const ScratchFolder scratch;
  Process first(endless_run(scratch.path("first.json"), scratch.path("")));
  wait_for(scratch.path("first.json"));
  const Outcome second = Process(quick_run(scratch.path("second.json"), scratch.path(""))).wait();
  EXPECT_EQ(second.exit_code, 0);  // a warning, no refusal
  EXPECT_THAT(second.err, HasSubstr("warning: another nf4bench run uses cpu already"));
  const auto warnings = [&](const std::string& name) {
    return json::parse(read_file(scratch.path(name)))
        .at("warnings")
        .get<std::vector<std::string>>();
  };
  EXPECT_THAT(warnings("second.json"), Contains(HasSubstr("uses cpu already")));
  first.send(SIGINT);
  const Outcome outcome = first.wait();
  EXPECT_THAT(outcome.err, HasSubstr("warning: another nf4bench run began to use cpu during"));
  EXPECT_THAT(warnings("first.json"), Contains(HasSubstr("began to use cpu during this one")));
}

TEST(TwoRuns, OneAfterTheOtherAreNotWarned) {
  const ScratchFolder scratch;
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(Process(quick_run(scratch.path("a.json"), scratch.path(""))).wait(),
                Ends(0, IsEmpty()));
  }
}

}  // namespace
}  // namespace nf4bench::test
