// Where output goes, and what happens when it cannot go there.

#include "cli/on_a_terminal.hpp"
#include "cli/outcome.hpp"
#include "text/progress.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <filesystem>
#include <string>

namespace nf4bench::test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::AnyOf;
using testing::Eq;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const std::string kRun =
    "$NF4BENCH run --device cpu --cache hot --no-ceilings --max-time 0.02 --min-samples 3 "
    "--shape 64x64 --variant simd ";

TEST(ReportPath, OnAFullDiskIsAnErrorAndNotALostReport) {
  EXPECT_THAT(shell(kRun + "--quiet --json /dev/full"), Ends(3, HasSubstr("/dev/full")));
}

TEST(ReportPath, ThatIsAPipeGetsOneReport) {
  const Outcome outcome = shell(kRun + "--quiet --json >(cat)");
  EXPECT_TRUE(json::accept(outcome.out)) << outcome.out.substr(0, 200);
}

TEST(ReportPath, FinishedReportReplacesTheOldOne) {
  const ScratchFolder scratch;
  const std::string path = scratch.path("report.json");
  ASSERT_EQ(shell(kRun + "--quiet --json " + path).exit_code, 0);
  const json first = json::parse(read_file(path));
  EXPECT_EQ(shell(kRun + "--quiet --dtype float32 --json " + path).exit_code, 0);
  EXPECT_NE(json::parse(read_file(path)).at("command"), first.at("command"));
  EXPECT_EQ(json::parse(read_file(path)).at("complete"), true);
}

TEST(Stdout, ThatIsFullIsAnError) {
  for (const std::string& command :
       {std::string("$NF4BENCH list variants"), kRun, kRun + "--quiet --json -",
        std::string("$NF4BENCH --version")}) {
    EXPECT_THAT(shell(command + " > /dev/full"), Ends(3, HasSubstr("stdout"))) << command;
  }
}

TEST(Stdout, ClosedByItsReaderEndsTheProcessWithoutAMessage) {
  const Outcome outcome = shell(kRun + "| true; echo ${PIPESTATUS[0]}");
  EXPECT_THAT(outcome.err, IsEmpty());
  EXPECT_THAT(outcome.out, AnyOf(Eq("0\n"), Eq("141\n")));
}

TEST(Stdout, CanBePipedIntoHead) {
  const Outcome outcome = shell("$NF4BENCH list variants --json | head -n 1");
  EXPECT_EQ(outcome.out, "[\n");
  EXPECT_THAT(outcome.err, IsEmpty());
}

class Progress : public OnATerminal {};
class Table : public OnATerminal {};

Command run_on_a_terminal() {
  Command command = nf4bench_command({"run", "--device", "cpu", "--shape", "64x64", "--cache",
                                      "hot", "--no-ceilings", "--variant", "simd", "--max-time",
                                      "0.3", "--precision", "0"});
  command.error_stream = Stream::kTerminal;
  return command;
}

TEST_F(Progress, WithAnEstimateIsShownOnATerminalAndClearedAtTheEnd) {
  Command command = run_on_a_terminal();
  command.environment = {"TERM=xterm"};
  const Outcome outcome = Process(command).wait();
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("\r["), HasSubstr(" %, "), HasSubstr(" left] ")));
  EXPECT_TRUE(outcome.err.ends_with("\r\x1b[K")) << outcome.err;
  EXPECT_THAT(outcome.out, Not(HasSubstr("\r")));
}

TEST_F(Progress, IsNotShownOnADumbTerminal) {
  Command command = run_on_a_terminal();
  command.environment = {"TERM=dumb"};
  EXPECT_THAT(Process(command).wait().err, IsEmpty());
}

TEST_F(Progress, IsALineEveryHalfMinuteWhereNothingCanBeOverwritten) {
  auto now = text::ProgressLine::Clock::time_point();
  testing::internal::CaptureStderr();
  {
    text::ProgressLine line(text::ProgressMode::kAuto, [&now] { return now; });
    for (int second = 0; second <= 70; ++second) {
      line.update(second / 100.0, "lut");
      now += std::chrono::seconds(1);
    }
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "nf4bench: [ 30 %, 1 min 10 s left] lut\nnf4bench: [ 60 %, 40 s left] lut\n");
}

TEST_F(Progress, IsNotShownWhenQuiet) {
  Command command = run_on_a_terminal();
  command.environment = {"TERM=xterm"};
  command.arguments.emplace_back("--quiet");
  EXPECT_THAT(Process(command).wait().err, IsEmpty());
}

TEST_F(Table, IsColouredOnATerminalUnlessNoColorIsSet) {
  // With --json - the table is on stderr, which is a terminal here.
  const auto table = [](const std::string& setting) {
    Command command = run_on_a_terminal();
    command.environment = {"TERM=xterm", setting};
    command.arguments.insert(command.arguments.end(), {"--json", "-"});
    const std::string text = Process(command).wait().err;
    return text.substr(text.rfind("\x1b[K") + 3);  // after the progress line
  };
  EXPECT_THAT(table("NO_COLOR="), HasSubstr("\x1b["));
  const std::string plain = table("NO_COLOR=1");
  EXPECT_THAT(plain, AllOf(HasSubstr("multi_pass"), Not(HasSubstr("\x1b["))));
}

}  // namespace
}  // namespace nf4bench::test
