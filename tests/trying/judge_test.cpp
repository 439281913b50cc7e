#include "base/error.hpp"
#include "peer/kernel/kernel_facts.hpp"
#include "scratch.hpp"
#include "trying/try_file.hpp"
#include "trying/try_sheet.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

namespace nf4bench {
namespace {

using testing::HasSubstr;
using testing::Not;
using trying::Attempt;
using trying::Status;
using trying::TriedCell;

record::Measurement row(const std::string& variant, record::Status status, double seconds = 0.0) {
  record::Measurement made;
  made.cell.operation = "dequantize";
  made.cell.tensor = "t0";
  made.variant = variant;
  made.status = status;
  if (seconds > 0.0) {
    made.samples_s.assign(8, seconds);
    made.time_s = statistics::summarize(made.samples_s);
  }
  return made;
}

record::Report report_of(std::vector<record::Measurement> rows) {
  record::Report report;
  report.complete = true;
  report.settings.operations = {{"dequantize", "multi_pass"}};
  record::ReportTensor& tensor = report.tensors.emplace_back();
  tensor.id = "t0";
  tensor.geometry = {.shape = {8, 64}, .blocksize = 64};
  report.measurements = std::move(rows);
  return report;
}

record::Verification mismatch() {
  record::Verification found;
  found.compared = 512;
  found.mismatches = 1;
  return found;
}

Attempt judged(const std::optional<record::Report>& report, const ChildOutcome& outcome = {}) {
  Attempt attempt;
  attempt.last = "0123456789ab";
  trying::judge(attempt, report, outcome);
  return attempt;
}

record::Measurement failed(const std::string& reason,
                           std::optional<record::Verification> found = std::nullopt) {
  record::Measurement made = row("mine", record::Status::kFailed);
  made.reason = reason;
  made.verification = found;
  return made;
}

TEST(TryJudge, RatiosAreToTheFastestTheBaselineAndTheLast) {
  const auto passed = record::Status::kPassed;
  const Attempt attempt =
      judged(report_of({row("multi_pass", passed, 4e-3), row("simd", passed, 1e-3),
                        row("mine", passed, 2e-3), row("last", passed, 3e-3)}));
  EXPECT_EQ(attempt.status, Status::kOk);
  ASSERT_EQ(attempt.cells.size(), 1u);
  EXPECT_EQ(attempt.cells[0].fastest->variant, "simd");
  EXPECT_EQ(attempt.cells[0].fastest->ratio, 0.5);
  EXPECT_EQ(attempt.cells[0].baseline->ratio, 2.0);
  EXPECT_EQ(attempt.cells[0].last->ratio, 1.5);
}

TEST(TryJudge, ABusyMachineIsToldWithTheTimes) {
  record::Report report = report_of({row("mine", record::Status::kPassed, 2e-3)});
  EXPECT_THAT(trying::to_text(judged(report), {}), Not(HasSubstr("Busy machine")));
  report.measurements[0].load.emplace().disturbed = true;
  const Attempt attempt = judged(report);
  EXPECT_TRUE(attempt.cells[0].disturbed);
  EXPECT_THAT(trying::to_text(attempt, {}), HasSubstr("Busy machine"));
}

// The facts of kernels of a library with this log.
TriedCell cell_of_library(const std::string& log) {
  const test::ScratchFolder folder;
  Attempt attempt;
  attempt.program = folder.path("library.so");
  peer::add_log(attempt.program, log);
  trying::judge(attempt, report_of({row("mine", record::Status::kPassed, 1e-3)}), {});
  return attempt.cells.at(0);
}

TEST(TryJudge, HostCodeLaunchesItsOnlyKernelOrAnyOfThem) {
  const std::string one =
      "Compiling entry function 'decode' for 'sm_90a'\nUsed 14 registers\n"
      "Compiling entry function '_Z5otherIfEvPT_' for 'sm_90a'\n";
  const TriedCell known = cell_of_library(one);
  ASSERT_TRUE(known.kernel);
  EXPECT_EQ(known.kernel->registers, 14);
  EXPECT_TRUE(known.kernels.empty());
  const TriedCell unknown = cell_of_library(one + "Compiling entry function 'add' for 'sm_90a'\n");
  EXPECT_FALSE(unknown.kernel);
  ASSERT_EQ(unknown.kernels.size(), 2u);
  EXPECT_EQ(unknown.kernels[1].name, "add");
  Attempt shown;
  shown.cells = {unknown};
  EXPECT_THAT(trying::to_text(shown, {}), HasSubstr("kernel decode: 14 registers"));
}

TEST(TryJudge, TheWorstKernelOfAFileDecides) {
  record::Measurement wrong = failed("1 of 512 elements differ", mismatch());
  wrong.variant = "mine.second";
  const Attempt attempt =
      judged(report_of({row("mine.first", record::Status::kPassed, 1e-3), wrong}));
  EXPECT_EQ(attempt.status, Status::kWrong);
  EXPECT_EQ(attempt.cells[1].variant, "second");
}

TEST(TryJudge, WhatIsRememberedIsStateful) {
  record::Verification found = mismatch();
  for (const auto kind : {record::FaultKind::kStale, record::FaultKind::kForeign}) {
    found.fault = kind;
    EXPECT_EQ(judged(report_of({failed("...", found)})).status, Status::kStateful);
  }
  found.fault = record::FaultKind::kLate;
  EXPECT_EQ(judged(report_of({failed("...", found)})).status, Status::kWrong);
}

TEST(TryJudge, ReasonsWithoutAnOutputTellCrashTimeoutAndRefusal) {
  EXPECT_EQ(judged(report_of({failed("crashed: signal 11 (Segmentation fault)")})).status,
            Status::kCrash);
  EXPECT_EQ(judged(report_of({failed("did not return within 2 s")})).status, Status::kTimeout);
  EXPECT_EQ(judged(report_of({failed("an illegal memory access was encountered")})).status,
            Status::kCrash);
  EXPECT_EQ(judged(report_of({failed("wrote past the end of its output")})).status, Status::kWrong);
  EXPECT_EQ(judged(report_of({failed("wrote into its inputs, which ...")})).status, Status::kWrong);
  EXPECT_EQ(judged(report_of({failed("takes 9.0 GB of memory, more than ...")})).status,
            Status::kCrash);
  EXPECT_EQ(judged(report_of({failed("implausible: by its own clock 9 calls ...")})).status,
            Status::kImplausible);
  EXPECT_EQ(judged(report_of({failed("launch: error 9")})).status, Status::kRefused);
}

TEST(TryJudge, APeerThatIsNotThereIsRefusedOrForAnotherDevice) {
  record::Report report = report_of({row("simd", record::Status::kPassed, 1e-3)});
  report.warnings = {"peer mine: mine.so exports neither"};
  EXPECT_EQ(judged(report).status, Status::kRefused);
  report.warnings = {"peer mine: while it was loaded, it ended its process with exit code 0"};
  EXPECT_EQ(judged(report).status, Status::kCrash);
  report.warnings = {"peer mine: mine.so has no variant of dequantize for CUDA devices"};
  EXPECT_EQ(judged(report).status, Status::kUnsupported);
}

TEST(TryJudge, ARunThatEndsIsACrashWhateverItsExitCode) {
  for (const int code : {0, 7, 128 + SIGSEGV}) {
    const Attempt attempt = judged(std::nullopt, {.exit_code = code, .out = {}, .err = {}});
    EXPECT_EQ(attempt.status, Status::kCrash) << code;
  }
  EXPECT_THAT(judged(std::nullopt, {.exit_code = 7, .out = {}, .err = {}}).reason,
              HasSubstr("exit code 7"));
}

TEST(TryJudge, ATimeoutIsToldByTheRunOrByItsSilence) {
  EXPECT_EQ(judged(std::nullopt, {.exit_code = 5,
                                  .out = {},
                                  .err = "nf4bench: error: mine did not return within 2 s; ...\n"})
                .status,
            Status::kTimeout);
  EXPECT_EQ(
      judged(std::nullopt, {.exit_code = 128 + SIGTERM, .out = {}, .err = {}, .was_silent = true})
          .status,
      Status::kTimeout);
}

TEST(TryJudge, WhatIsNotTheKernelsDoingIsAnError) {
  EXPECT_THROW(
      judged(std::nullopt,
             {.exit_code = 5, .out = {}, .err = "nf4bench: error: there is no CUDA device\n"}),
      Error);
}

// What limits it stands in its line of JSON and below its table; what stands in the way, once.
TEST(TryJudge, CountersOfARowAreThoseOfTheTry) {
  record::Measurement counted = row("mine", record::Status::kPassed, 1e-5);
  counted.counters.emplace().kernels = 1;
  counted.counters->dram_fraction = 0.91;
  counted.counters->stalls = {{"long_scoreboard", 7.5}};
  counted.counters->launch = {.grid = 32, .block = 64, .registers = 40, .shared_bytes = 512};
  counted.counters->limit = record::Limit::kDram;
  counted.counters->judgement = "DRAM limits it: 91 % of its peak";
  const Attempt attempt = judged(report_of({counted, row("simd", record::Status::kPassed, 2e-5)}));
  const Attempt read = trying::attempt_from_json(trying::to_json(attempt), "try");
  ASSERT_TRUE(read.cells.at(0).counters);
  EXPECT_EQ(read.cells[0].counters->dram_fraction, 0.91);
  EXPECT_EQ(read.cells[0].counters->limit, record::Limit::kDram);
  EXPECT_EQ(read.cells[0].counters->stalls.at(0).reason, "long_scoreboard");
  EXPECT_FALSE(read.cells[0].counters->alu_fraction);
  EXPECT_EQ(read.cells[0].counters->launch->shared_bytes, 512);
  EXPECT_FALSE(read.cells[0].counters->launch->occupancy);
  EXPECT_THAT(trying::to_text(attempt, {}), HasSubstr("8x64 fp16: DRAM limits it: 91 % of"));
  EXPECT_THAT(trying::to_text(attempt, {}), HasSubstr("It has 40 registers"));

  record::Report report = report_of({counted});
  report.device.multiprocessors = 132;
  EXPECT_THAT(judged(report).cells.at(0).hint, HasSubstr("100 of 132 multiprocessors have none"));

  counted.counters.emplace().unavailable = "ncu is not there";
  const Attempt failed = judged(report_of({counted, counted}));
  const std::string text = trying::to_text(failed, {});
  const std::size_t first = text.find("not counted: ncu is not there");
  EXPECT_NE(first, std::string::npos);
  EXPECT_EQ(text.find("ncu is not there", first + 20), std::string::npos);
}

TEST(TryJudge, ATryThatNobodyCountedSaysNothingOfCounters) {
  const Attempt attempt = judged(report_of({row("mine", record::Status::kPassed, 1e-5)}));
  EXPECT_THAT(trying::to_json(attempt), Not(HasSubstr("counters")));
}

}  // namespace
}  // namespace nf4bench
