// "nf4bench compare" from outside, on reports written for the purpose.

#include "base/atomic_file.hpp"
#include "cli/process.hpp"
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
using test::Outcome;
using test::ScratchFolder;
using test::Timing;
using testing::HasSubstr;
using testing::IsEmpty;

// Writes a report of a GPU run into `folder` and returns its path.
std::string write_run(const ScratchFolder& folder, const std::string& name, int minute,
                      const std::vector<Timing>& timings) {
  std::string path = folder.path(name);
  write_file(path, report::to_json(named_run(name, minute, timings).report));
  return path;
}

// A folder with a base, an equal run, a slower one and one in doubt.
class Compare : public testing::Test {
 protected:
  Outcome compare(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "compare");
    return test::nf4bench(arguments);
  }

  ScratchFolder folder;
  std::string base = write_run(folder, "base.json", 0, {{"fused", 30e-6}, {"lut", 40e-6}});
  std::string equal = write_run(folder, "equal.json", 1, {{"fused", 30e-6}, {"lut", 40e-6}});
  std::string slow = write_run(folder, "slow.json", 2, {{"fused", 33e-6}, {"lut", 40e-6}});
};

TEST_F(Compare, WithoutAGateASlowdownIsShownAndExitsWithZero) {
  const Outcome outcome = compare({base, slow});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("SLOWER"));
  EXPECT_THAT(outcome.err, IsEmpty());
}

TEST_F(Compare, TheGatePassesWhatDidNotChange) {
  const Outcome outcome = compare({base, equal, "--gate", "--strict"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("Gate: passed"));
}

TEST_F(Compare, TheGateFailsOnASlowdown) {
  EXPECT_EQ(compare({base, slow, "--gate"}).exit_code, 1);
}

TEST_F(Compare, TheGateFailsOnAMissingCell) {
  const std::string fresh = write_run(folder, "fewer.json", 3, {{"fused", 30e-6}});
  const Outcome outcome = compare({base, fresh, "--gate"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.out, HasSubstr("MISSING"));
}

TEST_F(Compare, TheGateFailsOnAnEmptyReport) {
  const std::string fresh = write_run(folder, "empty.json", 3, {});
  EXPECT_EQ(compare({base, fresh, "--gate"}).exit_code, 1);
}

TEST_F(Compare, NothingInCommonIsInconclusiveWithoutAGate) {
  const std::string fresh = write_run(folder, "other.json", 3, {{"select_tree", 30e-6}});
  EXPECT_EQ(compare({write_run(folder, "none.json", 4, {}), fresh}).exit_code, 6);
}

TEST_F(Compare, TheGateFailsOnAnUnfinishedRun) {
  record::Report report = named_run("x", 3, {{"fused", 30e-6}, {"lut", 40e-6}}).report;
  report.complete = false;
  write_file(folder.path("part.json"), report::to_json(report));
  const Outcome outcome = compare({base, folder.path("part.json"), "--gate"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.out, HasSubstr("incomplete"));
}

TEST_F(Compare, TheGateFailsOnAStaleReport) {
  std::filesystem::copy_file(base, folder.path("stale.json"));
  EXPECT_EQ(compare({base, folder.path("stale.json"), "--gate"}).exit_code, 1);
}

TEST_F(Compare, TheGateNeedsTheReportToBeThere) {
  const Outcome outcome = compare({base, folder.path("absent.json"), "--gate"});
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_THAT(outcome.err, HasSubstr("absent.json"));
}

TEST_F(Compare, UnsureIsAFailureOnlyWhenStrict) {
  const std::vector<std::string> arguments = {base,   slow,          "--gate", "--noise",
                                              "2.5%", "--threshold", "7%"};
  const Outcome lenient = compare(arguments);
  EXPECT_EQ(lenient.exit_code, 0);
  EXPECT_THAT(lenient.out, HasSubstr("1 UNSURE, 1 SAME"));
  std::vector<std::string> strict = arguments;
  strict.emplace_back("--strict");
  EXPECT_EQ(compare(strict).exit_code, 6);
}

TEST_F(Compare, AGateThatDecidesNothingIsInconclusive) {
  const Outcome outcome =
      compare({base, slow, "--gate", "--noise", "5%", "--threshold", "2%", "--format", "markdown"});
  EXPECT_EQ(outcome.exit_code, 6);
  EXPECT_THAT(outcome.out, HasSubstr("### nf4bench: inconclusive\n\n2 UNSURE"));
}

TEST_F(Compare, AnotherDriverIsNotComparableUnlessAllowed) {
  record::Report report = named_run("x", 3, {{"fused", 30e-6}, {"lut", 40e-6}}).report;
  report.device.driver = "570.86";
  write_file(folder.path("driver.json"), report::to_json(report));
  const Outcome refused = compare({base, folder.path("driver.json"), "--gate"});
  EXPECT_EQ(refused.exit_code, 7);
  EXPECT_THAT(refused.err, HasSubstr("driver: base 580.159.04, new 570.86"));
  const Outcome refused_ungated = compare({base, folder.path("driver.json")});
  EXPECT_EQ(refused_ungated.exit_code, 7);
  EXPECT_EQ(compare({base, folder.path("driver.json"), "--gate", "--allow", "driver"}).exit_code,
            0);
}

TEST_F(Compare, SpeedupsCarryOverToAnotherUnitOfTheModel) {
  record::Report report = named_run("x", 3, {{"fused", 30e-6}, {"lut", 40e-6}}).report;
  report.device.uuid = "GPU-other";
  write_file(folder.path("unit.json"), report::to_json(report));
  EXPECT_EQ(compare({base, folder.path("unit.json"), "--gate"}).exit_code, 7);
  EXPECT_EQ(compare({base, folder.path("unit.json"), "--gate", "--metric", "speedup"}).exit_code,
            0);
}

TEST_F(Compare, WrongWordsAreUsageErrorsWithASuggestion) {
  const Outcome metric = compare({base, equal, "--metric", "tme"});
  EXPECT_EQ(metric.exit_code, 2);
  EXPECT_THAT(metric.err, HasSubstr("Did you mean time?"));
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
  const std::string more = write_run(folder, "more.json", 5, {{"fused", 30e-6}, {"lut", 40e-6}});
  const Outcome outcome = compare({"--base", base, "--base", more, equal, slow, "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const json result = json::parse(outcome.out);
  EXPECT_EQ(result["base"].size(), 2u);
  EXPECT_EQ(result["new"].size(), 2u);
  EXPECT_EQ(result["cells"][0]["base"]["runs"], 2);
  EXPECT_EQ(result["cells"][0]["new"]["runs"], 2);
}

TEST_F(Compare, JsonHoldsTheDecisionOfTheGate) {
  const Outcome outcome = compare({base, slow, "--gate", "--json"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_EQ(json::parse(outcome.out)["gate"]["exit_code"], 1);
}

TEST_F(Compare, MarkdownStartsWithTheOutcome) {
  const Outcome outcome = compare({base, slow, "--gate", "--format", "markdown"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_TRUE(outcome.out.starts_with("### nf4bench: failed"));
}

TEST_F(Compare, AConfirmingRunMayRefuteASlowdown) {
  const Outcome outcome =
      compare({base, slow, "--gate", "--confirm", "cp " + equal + " \"$NF4BENCH_CONFIRM_JSON\""});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out;
  EXPECT_THAT(outcome.out, HasSubstr("UNSURE"));
  EXPECT_THAT(outcome.err, HasSubstr("confirming 1 SLOWER"));
}

TEST_F(Compare, AConfirmedSlowdownFails) {
  const std::string again = write_run(folder, "again.json", 6, {{"fused", 33.1e-6}});
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
    const Outcome outcome =
        compare({base, slow, "--gate", "--noise", "5%", "--threshold", "2%", "--confirm", command});
    EXPECT_EQ(outcome.exit_code, 1) << command;
    EXPECT_THAT(outcome.out, HasSubstr("fault: ")) << command;
  }
}

TEST_F(Compare, WithoutDoubtThereIsNoConfirmingRun) {
  const std::string mark = folder.path("ran");
  EXPECT_EQ(compare({base, equal, "--gate", "--confirm", "touch " + mark}).exit_code, 0);
  EXPECT_FALSE(std::filesystem::exists(mark));
}

}  // namespace
}  // namespace nf4bench
