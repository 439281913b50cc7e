#include "compare/comparability.hpp"

#include "compare/report_maker.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace nf4bench {
namespace {

using test::gpu_run;
using testing::ElementsAre;

std::vector<compare::Difference> differences(const record::Report& base,
                                             const record::Report& fresh,
                                             compare::Metric metric = compare::Metric::kTime,
                                             const std::vector<std::string>& allowed = {}) {
  return compare::find_differences({{"base", base}}, {{"new", fresh}}, metric, allowed);
}

// The differences after one change of an equal report.
std::vector<compare::Difference> after(const std::function<void(record::Report&)>& change,
                                       compare::Metric metric = compare::Metric::kTime) {
  record::Report fresh = gpu_run(1);
  change(fresh);
  return differences(gpu_run(0), fresh, metric);
}

TEST(Comparability, EqualMachinesDifferInNothing) {
  EXPECT_TRUE(after([](record::Report&) {}).empty());
}

TEST(Comparability, AnotherFileOfAPeerIsNamedAndStopsNothing) {
  const auto with_peer = [](const std::string& sha256) {
    record::Report report = gpu_run(0);
    report.peers = {{.name = "mine", .file = "m.so", .sha256 = sha256, .modified_at = ""}};
    return report;
  };
  const std::string one(64, 'a');
  const std::string two(64, 'b');
  EXPECT_TRUE(differences(with_peer(one), with_peer(one)).empty());
  EXPECT_TRUE(differences(with_peer(one), with_peer("")).empty());
  EXPECT_TRUE(differences(with_peer(one), gpu_run(0)).empty());
  const auto found = differences(with_peer(one), with_peer(two));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(difference_text(found[0]), "peers: base mine aaaaaaaa, new mine bbbbbbbb");
  EXPECT_TRUE(is_comparable(found));
}

TEST(Comparability, AnotherDriverStopsTimes) {
  const auto found = after([](record::Report& r) { r.device.driver = "570.86"; });
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].name, "driver");
  EXPECT_THAT(found[0].base, ElementsAre("580.159.04"));
  EXPECT_THAT(found[0].fresh, ElementsAre("570.86"));
  EXPECT_FALSE(compare::is_comparable(found));
  EXPECT_EQ(compare::difference_text(found[0]), "driver: base 580.159.04, new 570.86");
}

struct Change {
  const char* what;
  std::function<void(record::Report&)> change;
  bool times;     // are comparable after it
  bool speedups;  // likewise
};

TEST(Comparability, ChangesStopTimesOrRatiosOrBoth) {
  using record::Report;
  for (const Change& each : std::vector<Change>{
           {"unit", [](Report& r) { r.device.uuid = "GPU-other"; }, false, true},
           {"model", [](Report& r) { r.device.name = "NVIDIA L40S"; }, false, false},
           {"build", [](Report& r) { r.tool.build_type = "Debug"; }, false, false},
           {"baseline", [](Report& r) { r.settings.baseline = "branch_tree"; }, true, false},
           {"SM clock", [](Report& r) { r.state_before.max_sm_clock_hz = 1.5e9; }, false, true},
           {"power limit", [](Report& r) { r.state_before.power_limit_w = 500.0; }, false, true},
           {"ECC", [](Report& r) { r.device.ecc = false; }, false, true},
           {"memory clock",
            [](Report& r) {
              r.state_before.memory_clock_hz = r.state_after->memory_clock_hz = 2.6e9;
            },
            false, true}}) {
    EXPECT_EQ(compare::is_comparable(after(each.change)), each.times) << each.what;
    EXPECT_EQ(compare::is_comparable(after(each.change, compare::Metric::kSpeedup)), each.speedups)
        << each.what;
  }
  const auto unit = [](Report& r) { r.device.uuid = "GPU-other"; };
  EXPECT_TRUE(compare::is_comparable(after(unit, compare::Metric::kFractionOfCopy)));
  EXPECT_EQ(compare::spread_of(after(unit)), compare::Spread::kSeveralDevices);
}

TEST(Comparability, OtherDevicesAtWorkStopTimesButNotRatios) {
  const auto change = [](record::Report& r) { r.settings.together = 8; };
  const auto found = after(change);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(compare::difference_text(found[0]), "together: base alone, new 8 devices");
  EXPECT_FALSE(compare::is_comparable(found));
  EXPECT_TRUE(compare::is_comparable(after(change, compare::Metric::kSpeedup)));
  EXPECT_TRUE(after([](record::Report& r) { r.settings.together.reset(); }).empty());
}

TEST(Comparability, AnIdleMemoryClockBeforeTheRunIsNoDifference) {
  EXPECT_TRUE(after([](record::Report& r) { r.state_before.memory_clock_hz = 0.4e9; }).empty());
}

TEST(Comparability, AnotherRotationOfColdBuffersStopsEverything) {
  const auto change = [](record::Report& r) { r.settings.caches_rotated = 20; };
  const auto found = after(change, compare::Metric::kSpeedup);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_FALSE(compare::is_comparable(found));
  EXPECT_THAT(found[0].fresh, ElementsAre("20 caches"));
}

TEST(Comparability, HotBuffersDoNotRotate) {
  record::Report hot = gpu_run(0);
  hot.settings.caches = {record::CacheMode::kHot};
  record::Report other = hot;
  other.settings.caches_rotated = 20;
  EXPECT_TRUE(differences(hot, other).empty());
}

TEST(Comparability, AnotherCommitIsListedButIsWhatOneCompares) {
  const auto found = after([](record::Report& r) { r.tool.git_commit = "0123456789abcdef"; });
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].name, "commit");
  EXPECT_TRUE(compare::is_comparable(found));
}

TEST(Comparability, WhatAReportDoesNotKnowIsNoDifference) {
  EXPECT_TRUE(after([](record::Report& r) {
                r.device.ecc.reset();
                r.state_before.power_limit_w.reset();
              }).empty());
}

TEST(Comparability, RunsOfOneSideMustAgreeToo) {
  record::Report other = gpu_run(1);
  other.device.driver = "570.86";
  const auto found = compare::find_differences({{"a", gpu_run(0)}, {"b", other}},
                                               {{"c", gpu_run(2)}}, compare::Metric::kTime, {});
  EXPECT_FALSE(compare::is_comparable(found));
}

TEST(Comparability, AllowedDifferencesAreListedAndPass) {
  record::Report fresh = gpu_run(1);
  fresh.device.driver = "570.86";
  fresh.device.uuid = "GPU-other";
  EXPECT_FALSE(
      compare::is_comparable(differences(gpu_run(0), fresh, compare::Metric::kTime, {"driver"})));
  const auto found = differences(gpu_run(0), fresh, compare::Metric::kTime, {"driver", "uuid"});
  EXPECT_TRUE(compare::is_comparable(found));
  EXPECT_EQ(found.size(), 2u);
}

TEST(Comparability, EveryDifferenceThatMattersHasANameToAllow) {
  record::Report fresh = gpu_run(1);
  fresh.device.name = "x";
  fresh.device.uuid = "x";
  fresh.device.driver = "x";
  fresh.device.multiprocessors = 1;
  fresh.device.mig = true;
  fresh.device.ecc = false;
  fresh.tool.build_type = "x";
  fresh.settings.baseline = "x";
  fresh.state_before = {};
  fresh.state_before.max_sm_clock_hz = 1e9;
  fresh.state_before.power_limit_w = 1.0;
  fresh.state_after->memory_clock_hz = 1e9;
  for (const compare::Metric metric : kWords<compare::Metric>) {
    EXPECT_TRUE(compare::is_comparable(
        differences(gpu_run(0), fresh, metric, compare::difference_names())));
  }
}

}  // namespace
}  // namespace nf4bench
