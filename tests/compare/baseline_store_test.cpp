#include "compare/baseline_store.hpp"

#include "base/error.hpp"
#include "compare/history/history.hpp"
#include "compare/report_maker.hpp"
#include "scratch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <unistd.h>

namespace nf4bench {
namespace {

namespace fs = std::filesystem;

using test::named_run;
using testing::ElementsAre;

report::NamedReport run_of(const std::string& uuid, int minute) {
  report::NamedReport run = named_run("run.json", minute, {{"fused", 30e-6}});
  run.report.device.uuid = uuid;
  return run;
}

class BaselineStore : public test::FolderTest {
 protected:
  void save(const std::vector<report::NamedReport>& reports) const {
    store().save("main", reports, [](const fs::path&) {});
  }
  compare::BaselineStore store() const { return compare::BaselineStore(folder_); }
  fs::path device(const report::NamedReport& run) const {
    return folder_ / compare::device_key(run.report);
  }

  // The minutes at which the runs of the baseline began.
  std::vector<std::string> loaded(const report::NamedReport& run) const {
    std::vector<std::string> starts;
    for (const report::NamedReport& each : store().load("main", run.report).reports) {
      starts.push_back(each.report.started_at);
    }
    return starts;
  }
};

TEST_F(BaselineStore, PutsEachReportIntoTheFolderOfItsOwnDevice) {
  const report::NamedReport one = run_of("GPU-one", 1);
  const report::NamedReport two = run_of("GPU-two", 2);
  save({one, two});
  EXPECT_THAT(loaded(one), ElementsAre(one.report.started_at));
  EXPECT_THAT(loaded(two), ElementsAre(two.report.started_at));
}

TEST_F(BaselineStore, LeavesNothingBesideTheBaselineItReplaced) {
  const report::NamedReport newer = run_of("GPU-one", 2);
  save({run_of("GPU-one", 1)});
  save({newer});
  EXPECT_THAT(loaded(newer), ElementsAre(newer.report.started_at));
  EXPECT_EQ(std::distance(fs::directory_iterator(device(newer)), fs::directory_iterator()), 1);
}

TEST_F(BaselineStore, RecoversWhatAKilledProgramHadSetAside) {
  const report::NamedReport run = run_of("GPU-one", 1);
  save({run});
  fs::rename(device(run) / "main", device(run) / ".main.old");
  EXPECT_THAT(loaded(run), ElementsAre(run.report.started_at));
}

TEST_F(BaselineStore, TakesNoReportsOfAProgramThatWasKilled) {
  const report::NamedReport run = run_of("GPU-one", 1);
  fs::create_directories(device(run) / fs::path(".main." + std::to_string(getpid())));
  std::ofstream(device(run) / (".main." + std::to_string(getpid())) / "run-002.json") << "{}";
  save({run});
  EXPECT_THAT(loaded(run), ElementsAre(run.report.started_at));
}

TEST_F(BaselineStore, TellsProcessorsOfOneNameApartByTheirHost) {
  report::NamedReport here = run_of("", 1);
  report::NamedReport there = run_of("", 2);
  here.report.host.name = "here";
  there.report.host.name = "there";
  save({here});
  save({there});
  EXPECT_THAT(loaded(here), ElementsAre(here.report.started_at));
  there.report.host.name = "elsewhere";
  EXPECT_THROW(loaded(there), Error);
}

}  // namespace
}  // namespace nf4bench
