// "nf4bench compare" and its stored baselines from outside, on reports written for the purpose.

#include "base/atomic_file.hpp"
#include "cli/outcome.hpp"
#include "compare/report_maker.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace nf4bench {
namespace {

using nlohmann::json;
using test::named_run;
using test::operator+;
using test::Outcome;
using test::ScratchFolder;
using test::Timing;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

// A folder with a base, an equal run and a slower one.
class Compare : public testing::Test {
 protected:
  // Writes a report of a GPU run and returns its path.
  std::string write_run(const std::string& name, int minute,
                        const std::vector<Timing>& timings) const {
    return write(name, named_run(name, minute, timings).report);
  }

  std::string write(const std::string& name, const record::Report& report) const {
    write_file(folder.path(name), report::to_json(report));
    return folder.path(name);
  }

  // The report of another run that is equal but for what `change` does to it.
  template <class Change>
  std::string write_changed(const std::string& name, const Change& change) const {
    record::Report report = named_run("x", 3, kTimings).report;
    change(report);
    return write(name, report);
  }

  static Outcome compare(const test::Words& arguments) {
    return test::nf4bench(test::Words{"compare"} + arguments);
  }

  static inline const std::vector<Timing> kTimings = {{"fused", 30e-6}, {"lut", 40e-6}};
  ScratchFolder folder;
  std::string base = write_run("base.json", 0, kTimings);
  std::string equal = write_run("equal.json", 1, kTimings);
  std::string slow = write_run("slow.json", 2, {{"fused", 33e-6}, {"lut", 40e-6}});
};

TEST_F(Compare, WithoutAGateASlowdownIsShownAndExitsWithZero) {
  EXPECT_THAT(compare({base, slow}),
              testing::AllOf(test::Ends(0, IsEmpty()), test::Prints(HasSubstr("SLOWER"))));
}

TEST_F(Compare, TheGatePassesWhatDidNotChange) {
  EXPECT_THAT(compare({base, equal, "--gate", "--strict"}),
              testing::AllOf(test::Ends(0), test::Prints(HasSubstr("Gate: passed"))));
}

TEST_F(Compare, TheGateFailsOnASlowdownInEachFormat) {
  EXPECT_EQ(compare({base, slow, "--gate"}).exit_code, 1);
  EXPECT_THAT(compare({base, slow, "--gate", "--format", "markdown"}),
              testing::AllOf(test::Ends(1), test::Prints(StartsWith("### nf4bench: failed"))));
  const Outcome outcome = compare({base, slow, "--gate", "--json"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_EQ(json::parse(outcome.out)["gate"]["exit_code"], 1);
}

TEST_F(Compare, TheGateFailsOnAMissingCell) {
  const std::string fresh = write_run("fewer.json", 3, {{"fused", 30e-6}});
  EXPECT_THAT(compare({base, fresh, "--gate"}),
              testing::AllOf(test::Ends(1), test::Prints(HasSubstr("MISSING"))));
}

TEST_F(Compare, NothingInCommonIsInconclusiveWithoutAGate) {
  const std::string fresh = write_run("other.json", 3, {{"select_tree", 30e-6}});
  EXPECT_EQ(compare({write_run("none.json", 4, {}), fresh}).exit_code, 6);
}

TEST_F(Compare, TheGateNeedsTheReportToBeThere) {
  EXPECT_THAT(compare({base, folder.path("absent.json"), "--gate"}),
              test::Ends(3, HasSubstr("absent.json")));
}

TEST_F(Compare, UnsureIsAFailureOnlyWhenStrict) {
  const test::Words arguments = {base, slow, "--gate", "--noise", "2.5%", "--threshold", "7%"};
  EXPECT_THAT(compare(arguments),
              testing::AllOf(test::Ends(0), test::Prints(HasSubstr("1 UNSURE, 1 SAME"))));
  EXPECT_EQ(compare(arguments + test::Words{"--strict"}).exit_code, 6);
}

TEST_F(Compare, AGateThatDecidesNothingIsInconclusive) {
  EXPECT_THAT(
      compare({base, slow, "--gate", "--noise", "5%", "--threshold", "2%", "--format", "markdown"}),
      testing::AllOf(test::Ends(6),
                     test::Prints(HasSubstr("### nf4bench: inconclusive\n\n2 UNSURE"))));
}

TEST_F(Compare, AnotherDriverIsNotComparableUnlessAllowed) {
  const std::string other =
      write_changed("driver.json", [](record::Report& report) { report.device.driver = "570.86"; });
  EXPECT_THAT(compare({base, other, "--gate"}),
              test::Ends(7, HasSubstr("driver: base 580.159.04, new 570.86")));
  EXPECT_THAT(compare({base, other}), test::Ends(7));
  EXPECT_EQ(compare({base, other, "--gate", "--allow", "driver"}).exit_code, 0);
}

TEST_F(Compare, SpeedupsCarryOverToAnotherUnitOfTheModel) {
  const std::string other =
      write_changed("unit.json", [](record::Report& report) { report.device.uuid = "GPU-other"; });
  EXPECT_EQ(compare({base, other, "--gate"}).exit_code, 7);
  EXPECT_EQ(compare({base, other, "--gate", "--metric", "speedup"}).exit_code, 0);
}

TEST_F(Compare, WrongWordsAreUsageErrorsWithASuggestion) {
  EXPECT_THAT(compare({base, equal, "--metric", "tme"}),
              test::Ends(2, HasSubstr("Did you mean time?")));
  EXPECT_EQ(compare({base, equal, "--allow", "drivr"}).exit_code, 2);
  EXPECT_EQ(compare({base, equal, "--format", "csv"}).exit_code, 2);
  EXPECT_EQ(compare({base, equal, "--threshold", "2"}).exit_code, 2);
  EXPECT_EQ(compare({base, equal, "--threshold", "0.02x"}).exit_code, 2);
  EXPECT_EQ(compare({base, equal, "--strict"}).exit_code, 2);
  EXPECT_EQ(compare({base}).exit_code, 2);
  EXPECT_EQ(compare({}).exit_code, 2);
  EXPECT_EQ(compare({equal, "--gate", "--save-baseline", "main"}).exit_code, 2);
}

TEST_F(Compare, SeveralReportsASideArePooled) {
  const std::string more = write_run("more.json", 5, kTimings);
  const json result =
      test::json_of(compare({"--base", base, "--base", more, equal, slow, "--json"}));
  EXPECT_EQ(result["base"].size(), 2u);
  EXPECT_EQ(result["new"].size(), 2u);
  EXPECT_EQ(result["cells"][0]["base"]["runs"], 2);
  EXPECT_EQ(result["cells"][0]["new"]["runs"], 2);
}

TEST_F(Compare, AConfirmingRunMayRefuteASlowdown) {
  EXPECT_THAT(
      compare({base, slow, "--gate", "--confirm", "cp " + equal + " \"$NF4BENCH_CONFIRM_JSON\""}),
      testing::AllOf(test::Ends(0, HasSubstr("confirming 1 SLOWER")),
                     test::Prints(HasSubstr("UNSURE"))));
}

TEST_F(Compare, AConfirmedSlowdownFails) {
  const std::string again = write_run("again.json", 6, {{"fused", 33.1e-6}});
  const Outcome outcome =
      compare({base, slow, "--gate", "--confirm", "cp " + again + " \"$NF4BENCH_CONFIRM_JSON\""});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.out, HasSubstr("1:2"));  // runs of the cell in doubt
}

TEST_F(Compare, ConfirmationKnowsTheVariantsInDoubtAndLeavesStdoutAlone) {
  const Outcome outcome = compare(
      {base, slow, "--gate", "--json", "--confirm",
       "echo variants=$NF4BENCH_CONFIRM_VARIANTS; cp " + equal + " $NF4BENCH_CONFIRM_JSON"});
  EXPECT_TRUE(json::accept(outcome.out));
  EXPECT_THAT(outcome.err, HasSubstr("variants=fused\n"));
}

TEST_F(Compare, AConfirmationThatFailsNeverPassesTheGate) {
  for (const char* command : {"exit 3", "true", "echo rubbish > $NF4BENCH_CONFIRM_JSON"}) {
    EXPECT_THAT(
        compare({base, slow, "--gate", "--noise", "5%", "--threshold", "2%", "--confirm", command}),
        testing::AllOf(test::Ends(1), test::Prints(HasSubstr("fault: "))))
        << command;
  }
}

TEST_F(Compare, WithoutDoubtThereIsNoConfirmingRun) {
  const std::string mark = folder.path("ran");
  EXPECT_EQ(compare({base, equal, "--gate", "--confirm", "touch " + mark}).exit_code, 0);
  EXPECT_FALSE(std::filesystem::exists(mark));
}

// The same, and a store of baselines that is still empty.
class Baseline : public Compare {
 protected:
  Outcome compare(const test::Words& arguments) const {
    return Compare::compare(arguments + test::Words{"--baseline-dir", store});
  }

  // Stores the baseline "main" of another unit.
  void save_of(const std::string& uuid, const std::string& model) const {
    const int minute = 10 + static_cast<int>(uuid.back() - 'a');
    record::Report report = named_run("x", minute, kTimings).report;
    report.device.uuid = uuid;
    report.device.name = model;
    ASSERT_EQ(compare({write("unit.json", report), "--save-baseline", "main"}).exit_code, 0);
  }

  std::string store = folder.path("store");
};

TEST_F(Baseline, ASavedBaselineIsFoundAgain) {
  ASSERT_EQ(compare({base, "--save-baseline", "main"}).exit_code, 0);
  EXPECT_EQ(compare({equal, "--baseline", "main", "--gate"}).exit_code, 0);
  EXPECT_EQ(compare({slow, "--baseline", "main", "--gate"}).exit_code, 1);
}

TEST_F(Baseline, ABaselineMayHoldSeveralRunsAndIsReplacedAsAWhole) {
  const std::string more = write_run("more.json", 5, kTimings);
  ASSERT_EQ(compare({equal, more, "--base", base, "--save-baseline", "main"}).exit_code, 0);
  const Outcome two = compare({slow, "--baseline", "main", "--json"});
  EXPECT_EQ(json::parse(two.out)["base"].size(), 2u);
  ASSERT_EQ(compare({slow, "--save-baseline", "main"}).exit_code, 0);
  const json one = json::parse(compare({equal, "--baseline", "main", "--json"}).out);
  EXPECT_EQ(one["base"].size(), 1u);
  EXPECT_EQ(one["counts"]["FASTER"], 1);
}

TEST_F(Baseline, SeveralReportsToBeSavedAreOneSide) {
  ASSERT_EQ(compare({base, equal, "--save-baseline", "main"}).exit_code, 0);
  EXPECT_EQ(json::parse(compare({slow, "--baseline", "main", "--json"}).out)["base"].size(), 2u);
}

TEST_F(Baseline, AMissingBaselineIsNotComparable) {
  EXPECT_THAT(compare({equal, "--baseline", "main", "--gate"}),
              test::Ends(7, HasSubstr("--save-baseline main")));
}

TEST_F(Baseline, TheBaselineOfAnotherModelIsNotUsed) {
  save_of("GPU-other", "NVIDIA H100");
  EXPECT_THAT(compare({equal, "--baseline", "main", "--gate"}),
              test::Ends(7, HasSubstr("only of NVIDIA_H100-GPU-other")));
}

TEST_F(Baseline, OtherUnitsOfTheModelStandInForAUnitWithoutOne) {
  save_of("GPU-one", "NVIDIA H200");
  save_of("GPU-two", "NVIDIA H200");
  save_of("GPU-far", "NVIDIA H100");
  const Outcome outcome = compare({equal, "--baseline", "main", "--gate", "--json"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("has no baseline of its own; compared with 2 other GPUs of "
                                     "its model, NVIDIA H200"));
  const json comparison = json::parse(outcome.out);
  EXPECT_EQ(comparison["base"].size(), 2u);
  EXPECT_THAT(comparison["run_noise"]["origin"], HasSubstr("several"));
  EXPECT_EQ(compare({slow, "--baseline", "main", "--gate"}).exit_code, 1);
}

TEST_F(Baseline, AUnitsOwnBaselineComesBeforeThoseOfItsModel) {
  save_of("GPU-one", "NVIDIA H200");
  ASSERT_EQ(compare({base, "--save-baseline", "main"}).exit_code, 0);
  const Outcome outcome = compare({equal, "--baseline", "main", "--json"});
  EXPECT_EQ(json::parse(outcome.out)["base"].size(), 1u);
  EXPECT_THAT(outcome.err, testing::IsEmpty());
}

TEST_F(Baseline, AFailedGateDoesNotReplaceTheBaseline) {
  ASSERT_EQ(compare({base, "--save-baseline", "main"}).exit_code, 0);
  EXPECT_EQ(compare({slow, "--baseline", "main", "--gate", "--save-baseline", "main"}).exit_code,
            1);
  EXPECT_EQ(compare({slow, "--baseline", "main", "--gate"}).exit_code, 1);
}

TEST_F(Baseline, WhatIsNoMeasurementIsNoBaseline) {
  const std::string empty = write_run("empty.json", 3, {});
  EXPECT_EQ(compare({empty, "--save-baseline", "main"}).exit_code, 3);
  EXPECT_FALSE(std::filesystem::exists(store));
}

TEST_F(Baseline, AReportOfWhichARowFailedIsNoBaseline) {
  const std::string failed = write_changed("failed.json", [](record::Report& report) {
    record::Measurement& row = report.measurements.back();
    record::Measurement made;
    made.cell = row.cell;
    made.variant = row.variant;
    made.status = record::Status::kFailed;
    made.reason = "12 elements differ";
    row = made;
  });
  EXPECT_THAT(compare({failed, "--save-baseline", "main"}),
              test::Ends(3, HasSubstr("12 elements differ; such a report is no baseline")));
  EXPECT_FALSE(std::filesystem::exists(store));
}

TEST_F(Baseline, ABaselineCannotBeCalledAPath) {
  for (const char* name : {"../main", "a/b", ".hidden", ""}) {
    EXPECT_NE(compare({base, "--save-baseline", name}).exit_code, 0) << name;
  }
  EXPECT_FALSE(std::filesystem::exists(folder.path("main")));
}

TEST_F(Baseline, AFileCanBeTheBaseline) {
  EXPECT_EQ(compare({slow, "--baseline-file", base, "--gate"}).exit_code, 1);
}

}  // namespace
}  // namespace nf4bench
