// Stored baselines of "nf4bench compare" from outside.

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
using test::Outcome;
using test::ScratchFolder;
using test::Timing;
using testing::HasSubstr;

// Reports and a store of baselines that is still empty.
class Baseline : public testing::Test {
 protected:
  std::string write_run(const std::string& name, int minute,
                        const std::vector<Timing>& timings) const {
    std::string path = folder.path(name);
    write_file(path, report::to_json(test::named_run(name, minute, timings).report));
    return path;
  }

  Outcome compare(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "compare");
    arguments.insert(arguments.end(), {"--baseline-dir", store});
    return test::nf4bench(arguments);
  }

  // Stores the baseline "main" of another unit.
  void save_of(const std::string& uuid, const std::string& model) const {
    const int minute = 10 + static_cast<int>(uuid.back() - 'a');
    record::Report report = test::named_run("x", minute, {{"fused", 30e-6}, {"lut", 40e-6}}).report;
    report.device.uuid = uuid;
    report.device.name = model;
    write_file(folder.path("unit.json"), report::to_json(report));
    ASSERT_EQ(compare({folder.path("unit.json"), "--save-baseline", "main"}).exit_code, 0);
  }

  ScratchFolder folder;
  std::string base = write_run("base.json", 0, {{"fused", 30e-6}, {"lut", 40e-6}});
  std::string equal = write_run("equal.json", 1, {{"fused", 30e-6}, {"lut", 40e-6}});
  std::string slow = write_run("slow.json", 2, {{"fused", 33e-6}, {"lut", 40e-6}});
  std::string store = folder.path("store");
};

TEST_F(Baseline, ASavedBaselineIsFoundAgain) {
  ASSERT_EQ(compare({base, "--save-baseline", "main"}).exit_code, 0);
  EXPECT_EQ(compare({equal, "--baseline", "main", "--gate"}).exit_code, 0);
  EXPECT_EQ(compare({slow, "--baseline", "main", "--gate"}).exit_code, 1);
}

TEST_F(Baseline, ABaselineMayHoldSeveralRunsAndIsReplacedAsAWhole) {
  const std::string more = write_run("more.json", 5, {{"fused", 30e-6}, {"lut", 40e-6}});
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
  const Outcome outcome = compare({equal, "--baseline", "main", "--gate"});
  EXPECT_EQ(outcome.exit_code, 7);
  EXPECT_THAT(outcome.err, HasSubstr("--save-baseline main"));
}

TEST_F(Baseline, TheBaselineOfAnotherModelIsNotUsed) {
  save_of("GPU-other", "NVIDIA H100");
  const Outcome outcome = compare({equal, "--baseline", "main", "--gate"});
  EXPECT_EQ(outcome.exit_code, 7);
  EXPECT_THAT(outcome.err, HasSubstr("only of NVIDIA_H100-GPU-other"));
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
  record::Report report = test::named_run("x", 3, {{"fused", 30e-6}, {"lut", 40e-6}}).report;
  record::Measurement& row = report.measurements.back();
  record::Measurement failed;
  failed.cell = row.cell;
  failed.variant = row.variant;
  failed.status = record::Status::kFailed;
  failed.reason = "12 elements differ";
  row = failed;
  write_file(folder.path("failed.json"), report::to_json(report));
  const Outcome outcome = compare({folder.path("failed.json"), "--save-baseline", "main"});
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_THAT(outcome.err, HasSubstr("12 elements differ; such a report is no baseline"));
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
