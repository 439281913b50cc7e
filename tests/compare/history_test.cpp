#include "compare/history/history.hpp"

#include "compare/report_maker.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>

namespace nf4bench {
namespace {

using test::named_run;
using testing::HasSubstr;

// Twelve runs of which the last `slow` ones took 8 % longer, added in no order.
compare::History stepped_history(int slow, compare::HistoryOptions options = {}) {
  compare::HistoryBuilder builder(std::move(options));
  for (int i = 0; i < 12; ++i) {
    const int minute = i * 5 % 12;
    const double factor = minute >= 12 - slow ? 1.08 : 1.0;
    report::NamedReport run = named_run("run" + std::string(1, static_cast<char>('a' + minute)),
                                        minute, {{"fused", 30e-6 * factor}, {"lut", 40e-6}});
    run.report.tool.git_commit = std::string(12, static_cast<char>('a' + minute));
    builder.add(run);
  }
  return builder.finish();
}

TEST(History, RunsAreInTheOrderOfTime) {
  const compare::History history = stepped_history(4);
  ASSERT_EQ(history.devices.size(), 1u);
  const compare::HistoryDevice& device = history.devices[0];
  ASSERT_EQ(device.runs.size(), 12u);
  for (std::size_t i = 1; i < device.runs.size(); ++i) {
    EXPECT_LT(device.runs[i - 1].started_at, device.runs[i].started_at);
  }
}

TEST(History, AStepNamesTheRunAndTheChange) {
  const compare::History history = stepped_history(4);
  const compare::HistorySeries& fused = history.devices[0].series[0];
  ASSERT_EQ(fused.steps.size(), 1u);
  EXPECT_EQ(history.devices[0].runs[fused.points[fused.steps[0].point].run].name, "runi");
  EXPECT_NEAR(std::expm1(fused.steps[0].log_change), 0.08, 1e-9);
  EXPECT_TRUE(history.devices[0].series[1].steps.empty());
}

TEST(History, AChangeInTheLastRunIsToldApartFromSteps) {
  const compare::HistorySeries fused = stepped_history(1).devices[0].series[0];
  EXPECT_TRUE(fused.steps.empty());
  EXPECT_NEAR(std::expm1(fused.last_log_change), 0.08, 1e-9);
  EXPECT_THAT(compare::history_table(stepped_history(1), compare::Shown::kAll, {.width = 120}),
              HasSubstr("last run +8.0 % off its level"));
}

TEST(History, DevicesAreKeptApart) {
  compare::HistoryBuilder builder({});
  builder.add(named_run("a", 0, {{"fused", 30e-6}}));
  report::NamedReport other = named_run("b", 1, {{"fused", 60e-6}});
  other.report.device.uuid = "GPU-other";
  builder.add(other);
  const compare::History history = builder.finish();
  EXPECT_EQ(history.devices.size(), 2u);
  EXPECT_EQ(history.devices[0].series[0].points.size(), 1u);
}

TEST(History, ACopyOfARunCountsOnce) {
  compare::HistoryBuilder builder({});
  builder.add(named_run("a", 0, {{"fused", 30e-6}}));
  builder.add(named_run("copy of a", 0, {{"fused", 30e-6}}));
  EXPECT_EQ(builder.finish().devices[0].runs.size(), 1u);
}

TEST(History, TheNewestRunsOfADeviceAreLookedAt) {
  compare::HistoryBuilder builder({});
  report::NamedReport run = named_run("run", 0, {{"fused", 30e-6}});
  for (std::size_t i = 0; i < compare::kMostHistoryRuns + 3; ++i) {
    run.report.started_at = std::to_string(10'000 + i);
    builder.add(run);
  }
  const compare::History history = builder.finish();
  ASSERT_EQ(history.devices.size(), 1u);
  EXPECT_EQ(history.devices[0].runs.size(), compare::kMostHistoryRuns);
  EXPECT_EQ(history.devices[0].older_runs, 3u);
  EXPECT_EQ(history.devices[0].runs.front().started_at, "10003");
}

TEST(History, FailedRowsAreNoPoints) {
  compare::HistoryBuilder builder({});
  report::NamedReport run = named_run("a", 0, {{"fused", 30e-6}, {"lut", 30e-6}});
  run.report.measurements[0].status = record::Status::kFailed;
  builder.add(run);
  const compare::History history = builder.finish();
  ASSERT_EQ(history.devices[0].series.size(), 1u);
  EXPECT_EQ(history.devices[0].series[0].key.variant, "lut");
}

TEST(History, OnlyTheVariantsAskedForAreShown) {
  EXPECT_EQ(stepped_history(4, {.variants = {"lut"}}).devices[0].series.size(), 1u);
}

TEST(History, TheTableShowsWhatChangedAndWhen) {
  const std::string table =
      compare::history_table(stepped_history(4), compare::Shown::kAll, {.width = 120});
  EXPECT_THAT(table, HasSubstr("NVIDIA H200: 12 runs"));
  EXPECT_THAT(table, HasSubstr("+8.0 % on 2026-03-01 iiiiiii"));
  EXPECT_THAT(table, HasSubstr("1 of 2 cells changed"));
}

TEST(History, SpeedupsThatFallAreShownAsFalling) {
  const compare::History history = stepped_history(4, {.metric = compare::Metric::kSpeedup});
  EXPECT_THAT(compare::history_table(history, compare::Shown::kAll, {.width = 120}),
              HasSubstr("-7.4 % on"));
}

TEST(History, JsonHoldsEveryPointAndStep) {
  const auto json = nlohmann::json::parse(compare::history_json(stepped_history(4)));
  EXPECT_EQ(json["schema"], "nf4bench.history");
  const auto& device = json["devices"][0];
  EXPECT_EQ(device["runs"].size(), 12u);
  const auto& fused = device["series"][0];
  EXPECT_EQ(fused["variant"], "fused");
  EXPECT_EQ(fused["values"].size(), 12u);
  EXPECT_EQ(fused["steps"].size(), 1u);
  EXPECT_EQ(fused["steps"][0]["run"], 8);
  EXPECT_NEAR(fused["steps"][0]["relative"].get<double>(), 0.08, 1e-9);
  EXPECT_EQ(fused["steps"][0]["slower"], true);
}

TEST(DeviceKey, IsOneWordFitForAFileName) {
  record::Report report = test::gpu_run(0);
  EXPECT_EQ(compare::device_key(report), "NVIDIA_H200-GPU-6f1c3c52-8b7f-5d2c-9f57-2f4c7b1f7a10");
  report.device.name = "../Intel(R) Xeon(R) @ 2.1 GHz";
  report.device.uuid.clear();
  EXPECT_EQ(compare::device_key(report), "Intel_R_Xeon_R_2.1_GHz-132-threads-node7");
}

}  // namespace
}  // namespace nf4bench
