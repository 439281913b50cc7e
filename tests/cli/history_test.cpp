// "nf4bench history" from outside, on reports written for the purpose.

#include "base/atomic_file.hpp"
#include "cli/outcome.hpp"
#include "compare/report_maker.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <string>

namespace nf4bench {
namespace {

using nlohmann::json;
using test::Outcome;
using test::ScratchFolder;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class History : public testing::Test {
 protected:
  History() {
    for (int i = 0; i < 8; ++i) {
      const double fused_s = i < 4 ? 30e-6 : 33e-6;
      write_file(
          folder.path(fmt::format("run{}.json", i)),
          report::to_json(test::named_run("", i, {{"fused", fused_s}, {"lut", 40e-6}}).report));
    }
  }
  std::string path() const { return folder.path(""); }
  ScratchFolder folder;
};

TEST_F(History, ShowsTheStep) {
  const Outcome outcome = test::nf4bench({"history", path()});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("+10.0 % on 2026-03-01"));
  EXPECT_THAT(outcome.out, HasSubstr("1 of 2 cells changed"));
  EXPECT_THAT(outcome.err, IsEmpty());
}

TEST_F(History, ShowsTheChangedCellsAloneOnDemand) {
  EXPECT_THAT(test::nf4bench({"history", path()}).out, HasSubstr("\n  lut "));
  const Outcome outcome = test::nf4bench({"history", path(), "--changed"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("\n  fused "));
  EXPECT_THAT(outcome.out, Not(HasSubstr("\n  lut ")));
  EXPECT_LT(outcome.out.find("1 of 2 cells changed"), outcome.out.find("fused"));
}

TEST_F(History, JsonHoldsTheSteps) {
  const Outcome outcome = test::nf4bench({"history", path(), "--json", "--variant", "fused"});
  const json series = json::parse(outcome.out)["devices"][0]["series"];
  ASSERT_EQ(series.size(), 1u);
  EXPECT_EQ(series[0]["steps"][0]["run"], 4);
}

TEST_F(History, KeepsUnitsApartAndShowsOneOnDemand) {
  for (int i = 0; i < 4; ++i) {
    record::Report report = test::named_run("", 20 + i, {{"fused", 30e-6}}).report;
    report.device.uuid = "GPU-other";
    report.host.name = "node9";
    write_file(folder.path(fmt::format("other{}.json", i)), report::to_json(report));
  }
  const Outcome both = test::nf4bench({"history", path()});
  EXPECT_THAT(both.out, HasSubstr("NVIDIA H200 GPU-6f1c3c52-8b7f-5d2c-9f57-2f4c7b1f7a10: 8 runs"));
  EXPECT_THAT(both.out, HasSubstr("NVIDIA H200 GPU-other: 4 runs"));
  for (const char* name : {"GPU-other", "node9", "GPU-o*,none"}) {
    const json devices =
        test::json_of(test::nf4bench({"history", path(), "--unit", name, "--json"}))["devices"];
    ASSERT_EQ(devices.size(), 1u) << name;
    EXPECT_EQ(devices[0]["unit"], "GPU-other");
    EXPECT_EQ(devices[0]["runs"].size(), 4u);
  }
  EXPECT_THAT(test::nf4bench({"history", path(), "--unit", "GPU-absent"}),
              test::Ends(3, HasSubstr("--unit: no report is of a UUID or host \"GPU-absent\"")));
}

TEST_F(History, PassesOverWhatIsNoReportAndSaysSo) {
  write_file(folder.path("other.json"), "{\"schema\": \"something else\"}");
  write_file(folder.path("notes.txt"), "not looked at");
  const Outcome outcome = test::nf4bench({"history", path()});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.err, HasSubstr("passed over: "));
  EXPECT_THAT(outcome.err, HasSubstr("other.json"));
  EXPECT_THAT(outcome.err, Not(HasSubstr("notes.txt")));
}

TEST_F(History, AFolderWithoutAReportIsBadInput) {
  const ScratchFolder empty;
  EXPECT_EQ(test::nf4bench({"history", empty.path("")}).exit_code, 3);
  EXPECT_EQ(test::nf4bench({"history", empty.path("absent")}).exit_code, 3);
}

}  // namespace
}  // namespace nf4bench
