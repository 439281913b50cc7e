// "nf4bench merge" from outside, on reports written for the purpose.

#include "base/atomic_file.hpp"
#include "cli/outcome.hpp"
#include "fleet/unit_reports.hpp"
#include "source_dir.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <string>

namespace nf4bench {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::Outcome;
using test::ScratchFolder;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class Merge : public testing::Test {
 protected:
  Merge() {
    fs::create_directories(path("reports/sub"));
    for (int i = 0; i < 6; ++i) {
      write(fmt::format("reports/{}{}.json", i < 3 ? "" : "sub/", i), test::unit_run(i, timings()));
    }
  }

  static std::vector<test::Timing> timings() { return {{"fused", 30e-6}, {"lut", 40e-6}}; }
  std::string path(const std::string& name) const { return folder.path(name); }
  void write(const std::string& name, const report::NamedReport& run) const {
    write_file(path(name), report::to_json(run.report));
  }
  json fleet() const { return json::parse(test::read_file(path("fleet.json"))); }

  ScratchFolder folder;
};

TEST_F(Merge, TakesAllReportsBelowAFolder) {
  EXPECT_THAT(test::nf4bench({"merge", path("reports"), "-o", path("fleet.json")}),
              testing::AllOf(test::Ends(0, HasSubstr("merged: 6 units with 2 cells")),
                             test::Prints(IsEmpty())));
  EXPECT_EQ(fleet()["groups"][0]["units"].size(), 6u);
}

TEST_F(Merge, GivesTheSameFileWhateverTheThreads) {
  const Outcome one = test::shell("taskset -c 0 $NF4BENCH merge " + path("reports") + " -o -");
  const Outcome all = test::nf4bench({"merge", path("reports"), "-o", "-"});
  EXPECT_EQ(one.out, all.out);
  EXPECT_THAT(all.out, HasSubstr("nf4bench.fleet"));
}

TEST_F(Merge, NamesWhatItRefusesReplacesMissesAndCannotRead) {
  report::NamedReport other = test::unit_run(7, timings());
  other.report.device.driver = "570.86";
  write("reports/7.json", other);
  write("reports/again.json", test::unit_run(2, timings()));
  const std::string whole = test::read_file(path("reports/7.json"));
  write_file(path("reports/cut.json"), whole.substr(0, whole.size() / 2));
  write_file(path("hosts.txt"), "node0 4\nnode9\n");
  const Outcome outcome = test::nf4bench(
      {"merge", path("reports"), "--expect", path("hosts.txt"), "-o", path("fleet.json")});
  EXPECT_EQ(outcome.exit_code, 7) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("7.json: driver: 570.86, others 580.159.04"));
  EXPECT_THAT(outcome.err, HasSubstr("replaced: "));
  EXPECT_THAT(outcome.err, HasSubstr("not read: " + path("reports/cut.json") + ": no valid JSON"));
  EXPECT_THAT(outcome.err, HasSubstr("missing: node9"));
  EXPECT_THAT(outcome.err, HasSubstr("--by NAME"));
  const json merged = fleet();
  EXPECT_EQ(merged["groups"][0]["units"].size(), 6u);
  for (const char* field : {"refused", "replaced", "unread", "missing"}) {
    EXPECT_EQ(merged[field].size(), 1u) << field;
  }

  EXPECT_THAT(
      test::nf4bench({"merge", path("reports"), "--by", "driver", "-o", path("fleet.json")}),
      test::Ends(0));
  EXPECT_EQ(fleet()["groups"].size(), 2u);
}

TEST_F(Merge, ReplacesItsOwnFileAndNoReport) {
  const std::string inside = path("reports/fleet.json");
  for (int time = 0; time < 2; ++time) {
    EXPECT_THAT(test::nf4bench({"merge", path("reports"), "-o", inside}),
                test::Ends(0, Not(HasSubstr("not read"))));
  }
  for (const std::string force : {"", "--force"}) {
    std::vector<std::string> words = {"merge", path("reports"), "-o", path("reports/0.json")};
    if (!force.empty()) words.push_back(force);
    EXPECT_THAT(test::nf4bench(words), test::Ends(2, HasSubstr("is a report that is read")));
  }
  write_file(path("notes.txt"), "mine");
  EXPECT_THAT(test::nf4bench({"merge", path("reports"), "-o", path("notes.txt")}),
              test::Ends(2, HasSubstr("is not a fleet that nf4bench merged; --force")));
  EXPECT_EQ(test::read_file(path("notes.txt")), "mine");
  write_file(path("hosts.txt"), "node0\n");
  EXPECT_THAT(test::nf4bench({"merge", path("reports"), "--expect", path("hosts.txt"), "-o",
                              path("hosts.txt"), "--force"})
                  .err,
              HasSubstr("is a report that is read"));
}

TEST_F(Merge, DoesNotWaitForAFifo) {
  EXPECT_THAT(test::shell("mkfifo " + path("reports/x.json") + " && timeout 60 $NF4BENCH merge " +
                          path("reports") + " -o " + path("fleet.json")),
              test::Ends(0, HasSubstr("merged: 6 units")));
  EXPECT_EQ(fleet()["unread"].size(), 1u);
}

// What the jobs for Slurm and Kubernetes do with the code of merge.
TEST_F(Merge, KeepsItsCodeInTheJobOfABatchSystem) {
  const std::string script =
      std::string(NF4BENCH_SOURCE_DIR) + "/scripts/slurm/merge.sbatch reports";
  for (const int code : {3, 7}) {
    write_file(path("fake"), fmt::format("#!/bin/sh\n[ $1 = fleet ] && exit 1\nexit {}\n", code));
    fs::permissions(path("fake"), fs::perms::owner_all);
    EXPECT_THAT(
        test::shell("NF4BENCH=" + path("fake") + " REPORTS=" + path("") + " bash " + script),
        test::Ends(code == 7 ? 1 : code));
  }
}

TEST_F(Merge, RefusesReportsOfBeforeTheDayThatIsNamed) {
  const Outcome outcome =
      test::nf4bench({"merge", path("reports"), "--since", "2026-03-02", "-o", path("fleet.json")});
  EXPECT_NE(outcome.exit_code, 0);
  EXPECT_EQ(test::nf4bench({"merge", path("reports"), "--since", "spring", "-o", "-"}).exit_code,
            2);
}

TEST_F(Merge, OfNothingIsAnError) {
  fs::create_directory(path("empty"));
  EXPECT_THAT(test::nf4bench({"merge", path("empty"), "-o", path("fleet.json")}),
              test::Ends(3, HasSubstr("holds no report")));
  EXPECT_FALSE(fs::exists(path("fleet.json")));
}

TEST_F(Merge, WrongWordsAreUsageErrors) {
  EXPECT_THAT(test::nf4bench({"merge", path("reports"), "--by", "drivr", "-o", path("fleet.json")}),
              test::Ends(2, HasSubstr("Did you mean driver?")));
}

}  // namespace
}  // namespace nf4bench
