// "nf4bench fleet" from outside, on reports written for the purpose.

#include "base/atomic_file.hpp"
#include "cli/outcome.hpp"
#include "fleet/unit_reports.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <functional>
#include <string>

namespace nf4bench {
namespace {

using nlohmann::json;
using test::Outcome;
using test::ScratchFolder;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class FleetCommand : public testing::Test {
 protected:
  // Merges `units` with twelve cells each; `factor` says how slow a unit is.
  Outcome judge(int units, const std::function<double(int)>& factor,
                const std::vector<std::string>& more = {}) const {
    std::filesystem::create_directory(folder.path("reports"));
    for (int unit = 0; unit < units; ++unit) {
      std::vector<test::Timing> timings;
      for (int cell = 0; cell < 12; ++cell) {
        const double wobble = 1.0 + 0.001 * ((unit + 2 * cell) % 5);
        timings.push_back({fmt::format("v{}", cell), 1e-5 * (cell + 1) * wobble * factor(unit)});
      }
      write_file(folder.path(fmt::format("reports/{}.json", unit)),
                 report::to_json(test::unit_run(unit, timings).report));
    }
    EXPECT_THAT(test::nf4bench({"merge", folder.path("reports"), "-o", folder.path("fleet.json")}),
                test::Ends(0));
    std::vector<std::string> words = {"fleet", folder.path("fleet.json")};
    words.insert(words.end(), more.begin(), more.end());
    return test::nf4bench(words);
  }

  static double all_alike(int /*unit*/) { return 1.0; }
  static double third_is_slow(int unit) { return unit == 3 ? 1.06 : 1.0; }

  ScratchFolder folder;
};

TEST_F(FleetCommand, NamesTheSlowUnitFirst) {
  const Outcome outcome = judge(8, third_is_slow);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("NVIDIA H200: 8 units, 12 cells"));
  EXPECT_THAT(outcome.out, testing::ContainsRegex("1  GPU-00000003 .*SLOW .*\\+[56]\\.[0-9] %"));
  EXPECT_THAT(outcome.out, HasSubstr("1 SLOW, 7 OK"));
}

TEST_F(FleetCommand, AGateFailsForASlowUnitAlone) {
  EXPECT_THAT(judge(8, third_is_slow, {"--gate"}),
              AllOf(test::Ends(1), test::Prints(HasSubstr("gate: 1 unit SLOW"))));
  EXPECT_THAT(
      judge(8, all_alike, {"--gate"}),
      AllOf(test::Ends(0), test::Prints(AllOf(HasSubstr("8 OK"), Not(HasSubstr("gate:"))))));
}

TEST_F(FleetCommand, AGateThatCannotJudgeIsInconclusive) {
  const Outcome outcome = judge(4, third_is_slow, {"--gate"});
  EXPECT_EQ(outcome.exit_code, 6);
  EXPECT_THAT(outcome.out, HasSubstr("Fewer than 5 units: a ranking, and no verdicts."));
  EXPECT_THAT(outcome.out, Not(HasSubstr("SLOW")));
  EXPECT_THAT(outcome.out, HasSubstr("1  GPU-00000003"));
}

TEST_F(FleetCommand, ShowsTwentyOfManyAndAllOnDemand) {
  const auto factor = [](int unit) { return 1.0 + 0.0001 * unit; };
  const Outcome few = judge(30, factor);
  EXPECT_THAT(few.out, HasSubstr("and 10 that are faster; --all shows them"));
  EXPECT_THAT(few.out, Not(HasSubstr("\n  30  GPU")));
  EXPECT_THAT(judge(30, factor, {"--all"}).out, HasSubstr("\n  30  GPU"));
}

TEST_F(FleetCommand, PrintsJson) {
  const Outcome outcome = judge(8, third_is_slow, {"--json", "--gate"});
  EXPECT_EQ(outcome.exit_code, 1);
  const json ranking = json::parse(outcome.out);
  const json& unit = ranking["groups"][0]["units"][0];
  EXPECT_EQ(unit["id"], "GPU-00000003");
  EXPECT_EQ(unit["verdict"], "SLOW");
  EXPECT_NEAR(unit["deviation"].get<double>(), 0.06, 0.004);
  EXPECT_EQ(unit["slow_cells"], 12);
  EXPECT_EQ(ranking["groups"][0]["cells"][0]["units"], 8);
  EXPECT_EQ(ranking["gate"]["exit_code"], 1);
}

TEST_F(FleetCommand, WritesMarkdownForATicket) {
  const Outcome outcome = judge(8, third_is_slow, {"--format", "markdown", "--gate"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.out, testing::StartsWith("### nf4bench fleet: 1 SLOW, 7 OK\n"));
  EXPECT_THAT(outcome.out, HasSubstr("#### SLOW: GPU-00000003 on node0\n"));
  EXPECT_THAT(outcome.out,
              testing::ContainsRegex("- deviation: \\+[56]\\.[0-9] % over 12 cells, 12 "
                                     "of them slow; z [0-9.]+\n"));
  EXPECT_THAT(outcome.out, HasSubstr("- likely cause: unknown\n"));
  EXPECT_THAT(outcome.out, testing::ContainsRegex(
                               "\\| 4096x4096 block 64 nested  bf16  cold graph  v[0-9]+ \\| "));
  EXPECT_THAT(outcome.out, HasSubstr("and 2 cells in which it is faster than that"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("GPU-00000004")));
  EXPECT_THAT(judge(1, all_alike, {"--format", "markdwn"}),
              test::Ends(2, HasSubstr("Did you mean markdown?")));
}

TEST_F(FleetCommand, NothingInAReportBecomesMarkup) {
  std::filesystem::create_directory(folder.path("reports"));
  report::NamedReport run = test::unit_run(0, {{"fused", 1e-5}});
  run.report.host.name = "<b>@all</b>|`x`";
  run.report.complete = false;
  write_file(folder.path("reports/0.json"), report::to_json(run.report));
  ASSERT_EQ(
      test::nf4bench({"merge", folder.path("reports"), "-o", folder.path("f.json")}).exit_code, 0);
  const Outcome outcome = test::nf4bench({"fleet", folder.path("f.json"), "--format", "markdown"});
  EXPECT_THAT(outcome.out, HasSubstr("#### FAILED: GPU-00000000"));
  EXPECT_THAT(outcome.out, HasSubstr(R"(on \<b\>\@all\</b\>\|\`x\`)"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("deviation")));
}

TEST_F(FleetCommand, ReportsAreNoFleet) {
  judge(1, all_alike);
  EXPECT_THAT(test::nf4bench({"fleet", folder.path("reports/0.json")}),
              test::Ends(3, HasSubstr("as \"nf4bench merge\" writes it")));
}

}  // namespace
}  // namespace nf4bench
