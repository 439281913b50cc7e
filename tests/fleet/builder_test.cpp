#include "fleet/builder.hpp"

#include "error_of.hpp"
#include "fleet/unit_reports.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace nf4bench {
namespace {

using test::unit_run;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::vector<test::Timing> kTimings = {{"fused", 30e-6}, {"lut", 40e-6}};

// Merges units 0, 1, ... after `change` was applied to each.
fleet::Fleet merge(int count, const std::function<void(int, record::Report&)>& change = {},
                   const std::vector<std::string>& by = {}) {
  fleet::FleetBuilder builder;
  for (int number = 0; number < count; ++number) {
    report::NamedReport run = unit_run(number, kTimings);
    if (change) change(number, run.report);
    builder.add(fleet::unit_report(run));
  }
  return builder.finish(by);
}

std::vector<std::string> ids_of(const fleet::Group& group) {
  std::vector<std::string> ids;
  for (const fleet::Unit& unit : group.units) ids.push_back(unit.id);
  return ids;
}

TEST(FleetBuilder, UnitsThatDifferInUuidAndHostAreOneGroup) {
  const fleet::Fleet merged = merge(6);
  ASSERT_EQ(merged.groups.size(), 1u);
  const fleet::Group& group = merged.groups[0];
  ASSERT_EQ(group.units.size(), 6u);
  ASSERT_EQ(group.cells.size(), 2u);
  EXPECT_EQ(group.cells[1].name, "4096x4096 block 64 nested  bf16  cold graph  lut");
  EXPECT_EQ(group.units[5].id, "GPU-00000005");
  EXPECT_EQ(group.units[5].host, "node1");
  EXPECT_DOUBLE_EQ(group.units[5].values[0].time_s, 30e-6);
  EXPECT_DOUBLE_EQ(group.units[5].values[1].time_s, 40e-6);
  EXPECT_GT(group.units[5].values[1].log_error, 0.0);
  EXPECT_NEAR(group.units[5].values[1].clock_hz, 1.98e9, 1.0);
  EXPECT_THAT(merged.refused, IsEmpty());
}

TEST(FleetBuilder, CountsOtherProcessesOfBeforeTheRunAndAfterIt) {
  const fleet::Fleet merged = merge(4, [](int number, record::Report& report) {
    report.state_after = report.state_before;
    if (number > 0) report.state_before.other_processes = number == 1 ? 3 : 0;
    if (number > 1) report.state_after->other_processes = number == 2 ? 1 : 0;
  });
  ASSERT_EQ(merged.groups.size(), 1u);  // they do not keep reports apart
  const std::vector<fleet::Unit>& units = merged.groups[0].units;
  EXPECT_EQ(units.at(0).other_processes, std::nullopt);
  EXPECT_EQ(units.at(1).other_processes, 3);
  EXPECT_EQ(units.at(2).other_processes, 1);
  EXPECT_EQ(units.at(3).other_processes, 0);
}

TEST(FleetBuilder, RefusesWhatIsNotComparableAndSaysWhy) {
  const fleet::Fleet merged = merge(5, [](int number, record::Report& report) {
    if (number < 2) report.device.driver = "570.86";
  });
  ASSERT_EQ(merged.groups.size(), 1u);
  EXPECT_THAT(ids_of(merged.groups[0]),
              ElementsAre("GPU-00000002", "GPU-00000003", "GPU-00000004"));
  ASSERT_EQ(merged.refused.size(), 2u);
  EXPECT_EQ(merged.refused[0].report, "unit0.json");
  EXPECT_EQ(merged.refused[0].reason, "driver: 570.86, others 580.159.04");
}

TEST(FleetBuilder, GroupsByWhatItIsToldTo) {
  const fleet::Fleet merged = merge(6,
                                    [](int number, record::Report& report) {
                                      if (number < 2) report.device.driver = "570.86";
                                      if (number == 5) report.state_before.power_limit_w = 500.0;
                                    },
                                    {"driver"});
  ASSERT_EQ(merged.groups.size(), 2u);
  EXPECT_THAT(ids_of(merged.groups[0]), ElementsAre("GPU-00000000", "GPU-00000001"));
  EXPECT_EQ(merged.groups[1].units.size(), 3u);
  ASSERT_EQ(merged.refused.size(), 1u);
  EXPECT_EQ(merged.refused[0].reason, "power_limit: 500 W, others 700 W");
}

TEST(FleetBuilder, MemoryTellsBoardsOfOneNameApart) {
  const fleet::Fleet merged = merge(4,
                                    [](int number, record::Report& report) {
                                      report.device.memory_bytes =
                                          std::int64_t{number < 2 ? 40 : 80} << 30;
                                    },
                                    {"memory"});
  EXPECT_EQ(merged.groups.size(), 2u);
  EXPECT_THAT(merged.groups[0].facts, testing::Contains(fleet::Fact{"memory", "40 GiB"}));
}

TEST(FleetBuilder, AUnitIsThereOnceWithItsNewestWholeReport) {
  fleet::FleetBuilder builder;
  const auto add = [&](const char* name, int minute, bool complete) {
    report::NamedReport run = unit_run(3, kTimings);
    run.name = name;
    run.report.started_at = test::gpu_run(minute).started_at;
    run.report.complete = complete;
    builder.add(fleet::unit_report(run));
  };
  add("first", 10, true);
  add("newest", 12, true);
  add("between", 11, true);
  add("broken", 13, false);
  const fleet::Fleet merged = builder.finish({});
  ASSERT_EQ(merged.groups[0].units.size(), 1u);
  EXPECT_EQ(merged.groups[0].units[0].report, "newest");
  ASSERT_EQ(merged.replaced.size(), 3u);
  EXPECT_EQ(merged.replaced[0].report, "first");
  EXPECT_EQ(merged.replaced[0].reason, "GPU-00000003 has a newer report, newest");
  EXPECT_EQ(merged.replaced[2].reason, "GPU-00000003 has a complete report, newest");
}

TEST(FleetBuilder, CellsThatNotAllUnitsHaveAreZeroForTheOthers) {
  fleet::FleetBuilder builder;
  builder.add(fleet::unit_report(unit_run(0, {{"fused", 30e-6}})));
  builder.add(fleet::unit_report(unit_run(1, kTimings)));
  const fleet::Fleet merged = builder.finish({});
  ASSERT_EQ(merged.groups[0].units[0].values.size(), 2u);
  EXPECT_FALSE(merged.groups[0].units[0].values[1].is_measured());
  EXPECT_TRUE(merged.groups[0].units[1].values[1].is_measured());
}

TEST(FleetBuilder, WrongOutputsAreCountedAndGiveNoTime) {
  const fleet::Fleet merged = merge(2, [](int number, record::Report& report) {
    if (number == 0) report.measurements[0].status = record::Status::kFailed;
  });
  const fleet::Unit& unit = merged.groups[0].units[0];
  EXPECT_EQ(unit.failed, 1u);
  EXPECT_FALSE(unit.values[0].is_measured());
}

TEST(FleetBuilder, BandwidthTellsWhatBindsACell) {
  const fleet::Fleet merged = merge(2, [](int, record::Report& report) {
    report.measurements[0].fraction_of_copy = 0.95;
    report.measurements[1].fraction_of_copy = 0.40;
  });
  EXPECT_EQ(merged.groups[0].cells[0].bound, fleet::Bound::kMemory);
  EXPECT_EQ(merged.groups[0].cells[1].bound, fleet::Bound::kOther);
  const fleet::Fleet blind = merge(1, [](int, record::Report& report) {
    for (record::Measurement& m : report.measurements) m.fraction_of_copy.reset();
  });
  EXPECT_EQ(blind.groups[0].cells[0].bound, fleet::Bound::kUnknown);
}

record::Shard shard(int index, int count, bool split = false) {
  return {.index = index, .count = count, .split = split, .origin = "--shard"};
}

TEST(FleetBuilder, NamesTasksThatLeftNoReport) {
  const fleet::Fleet merged = merge(6, [](int number, record::Report& report) {
    report.shard = shard(number < 3 ? number : number + 1, number == 4 ? 8 : 0);
    if (number == 5) report.device.driver = "570.86";  // refused, but it was there
  });
  EXPECT_THAT(merged.missing, ElementsAre("shard 3 of 8", "shard 7 of 8"));
  EXPECT_THAT(
      merge(3, [](int number, record::Report& report) { report.shard = shard(number, 3); }).missing,
      IsEmpty());
  EXPECT_THAT(merge(3).missing, IsEmpty());
}

TEST(FleetBuilder, NamesAThousandOfMissingTasksAtMost) {
  const auto missing = [](int count) {
    return merge(3, [count](int number,
                            record::Report& report) { report.shard = shard(number, count); })
        .missing;
  };
  EXPECT_EQ(missing(1003).size(), 1000u);
  EXPECT_EQ(missing(1004).size(), 1001u);
  EXPECT_EQ(missing(2'000'000'000).back(), "1999998997 more shards");
}

TEST(FleetBuilder, TwoTasksOnOneGpuAreOneUnit) {
  const fleet::Fleet merged = merge(2, [](int number, record::Report& report) {
    report.device.uuid = "GPU-twice";
    report.shard = shard(number, 2);
  });
  EXPECT_THAT(ids_of(merged.groups[0]), ElementsAre("GPU-twice"));
  ASSERT_EQ(merged.replaced.size(), 1u);
  EXPECT_EQ(merged.replaced[0].reason, "GPU-twice has a newer report, unit1.json");
  EXPECT_THAT(merged.missing, IsEmpty());
}

TEST(FleetBuilder, TasksThatShareTheGeometriesReplaceNobody) {
  const fleet::Fleet merged = merge(2, [](int number, record::Report& report) {
    report.device.uuid = "GPU-both";
    report.shard = shard(number, 2, true);
    report.measurements.erase(report.measurements.begin() + number);
  });
  EXPECT_THAT(ids_of(merged.groups[0]), ElementsAre("GPU-both shard 0", "GPU-both shard 1"));
  EXPECT_EQ(merged.groups[0].cells.size(), 2u);
  EXPECT_THAT(merged.replaced, IsEmpty());
}

TEST(FleetBuilder, TasksOnOneCpuAreUnitsOfTheirOwn) {
  const fleet::Fleet merged = merge(2, [](int number, record::Report& report) {
    report.device.uuid.clear();
    report.device.id = "cpu";
    report.shard = shard(number, 2);
  });
  EXPECT_THAT(ids_of(merged.groups[0]), ElementsAre("node0 cpu shard 0", "node0 cpu shard 1"));
}

TEST(MissingUnits, AreNamedByUuidOrHost) {
  const fleet::Fleet merged = merge(6);  // four on node0, two on node1
  EXPECT_THAT(
      fleet::missing_units(merged,
                           "# hosts\n\nGPU-00000001\nGPU-99999999\nnode0 4\nnode1 4\nnode2\n  "
                           "node3 8  \n",
                           "hosts.txt"),
      ElementsAre("GPU-99999999", "node1 (2 of 4)", "node2", "node3 (0 of 8)"));
}

TEST(MissingUnits, RefusesOtherLines) {
  for (const char* line : {"node1 four", "node1 0", "node1 4 5", "node1 -1"}) {
    const auto read = [line] {
      fleet::missing_units({}, std::string("node0\n") + line, "hosts.txt");
    };
    EXPECT_THAT(test::error_of(ErrorKind::kInput, read), HasSubstr("hosts.txt:2: found")) << line;
  }
}

// Units 0 to 2, of which the last one is of `date`.
fleet::Fleet dated(const std::string& date, const fleet::FleetDates& dates) {
  fleet::FleetBuilder builder(dates);
  for (int number = 0; number < 3; ++number) {
    report::NamedReport run = unit_run(number, kTimings);
    if (number == 2) run.report.started_at = date;
    builder.add(fleet::unit_report(run));
  }
  return builder.finish({});
}

TEST(FleetBuilder, RefusesReportsOfAnotherTime) {
  struct Case {
    const char* date;
    const char* since;
    const char* refused;  // why; empty: it is taken
  };
  const Case cases[] = {{"2026-02-10T00:00:00Z", "", ""},
                        {"2026-01-29T23:59:59Z", "", "31 days before the newest"},
                        {"2025-06-01T00:00:00Z", "", "273 days before the newest"},
                        {"2025-06-01T00:00:00Z", "2025-01-01", ""},
                        {"2026-02-27T00:00:00Z", "2026-02-28", "before 2026-02-28"},
                        {"2026-03-02T23:00:00Z", "", ""},
                        {"2099-01-01T00:00:00Z", "", "which is to come"},
                        {"99999-01-01T00:00:00Z", "", "which is no time of UTC"},
                        {"2026-2-10T00:00:00Z", "", "which is no time of UTC"},
                        {"zzzz", "", "which is no time of UTC"}};
  for (const Case& each : cases) {
    const fleet::Fleet merged =
        dated(each.date, {.since = each.since, .now = "2026-03-01T12:00:00Z"});
    const bool is_taken = *each.refused == '\0';
    EXPECT_EQ(merged.groups.at(0).units.size(), is_taken ? 3u : 2u) << each.date;
    ASSERT_EQ(merged.refused.size(), is_taken ? 0u : 1u) << each.date;
    if (is_taken) continue;
    EXPECT_THAT(merged.refused[0].reason, HasSubstr(each.refused));
  }
}

TEST(FleetBuilder, MixesNoCommits) {
  const auto of_two_commits = [](int number, record::Report& report) {
    report.tool.git_commit = number == 0 ? "aaaaaaaaaaaa" : "bbbbbbbbbbbb";
  };
  const fleet::Fleet merged = merge(4, of_two_commits);
  EXPECT_EQ(merged.groups.at(0).units.size(), 3u);
  ASSERT_EQ(merged.refused.size(), 1u);
  EXPECT_THAT(merged.refused[0].reason, HasSubstr("commit: aaaaaaaaaaaa, others bbbbbbbbbbbb"));
  EXPECT_EQ(merge(4, of_two_commits, {"commit"}).groups.size(), 2u);
  EXPECT_THAT(fleet::group_words(), testing::Contains("commit"));
}

TEST(FleetBuilder, SaysWhyAUnitFailed) {
  const fleet::Fleet merged = merge(2, [](int number, record::Report& report) {
    if (number == 0) return;
    report.measurements[1].status = record::Status::kFailed;
    report.measurements[1].reason = "12 of 64 elements differ";
  });
  EXPECT_EQ(merged.groups.at(0).units[0].failure, "");
  EXPECT_THAT(merged.groups.at(0).units[1].failure,
              testing::AllOf(HasSubstr("lut"), HasSubstr("12 of 64 elements differ")));
}

}  // namespace
}  // namespace nf4bench
