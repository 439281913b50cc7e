#include "fleet/analysis.hpp"

#include "fleet/ranking_text.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace nf4bench {
namespace {

using fleet::UnitVerdict;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr double kTime_s = 1e-5;

// `units` that differ by up to 0.2 %, each in `cells`, every third of which the memory binds.
fleet::Group group_of(std::size_t units, std::size_t cells) {
  fleet::Group group;
  for (std::size_t c = 0; c < cells; ++c) {
    group.cells.push_back({.name = fmt::format("cell {}", c),
                           .bound = c % 3 == 0 ? fleet::Bound::kMemory : fleet::Bound::kOther});
  }
  for (std::size_t u = 0; u < units; ++u) {
    fleet::Unit unit;
    unit.id = fmt::format("GPU-{}", u);
    unit.complete = true;
    unit.temperature_c = 50.0;
    for (std::size_t c = 0; c < cells; ++c) {
      const double wobble = 0.0005 * static_cast<double>((3 * u + 2 * c) % 5);
      unit.values.push_back({kTime_s * (1.0 + wobble), 0.0002, 1.98e9});
    }
    group.units.push_back(std::move(unit));
  }
  return group;
}

void slow_down(fleet::Unit& unit, double factor, std::size_t from = 0, std::size_t step = 1) {
  for (std::size_t c = from; c < unit.values.size(); c += step) unit.values[c].time_s *= factor;
}

const fleet::UnitSummary& summary_of(const fleet::GroupAnalysis& analysis, std::size_t unit) {
  for (const fleet::UnitSummary& each : analysis.ranking) {
    if (each.unit == unit) return each;
  }
  throw std::out_of_range("unit");
}

UnitVerdict verdict_of(const fleet::Group& group, std::size_t unit) {
  return summary_of(fleet::analyse(group), unit).verdict;
}

TEST(FleetAnalysis, FindsTheOneThatIsSlow) {
  fleet::Group group = group_of(8, 20);
  slow_down(group.units[3], 1.06);
  const fleet::GroupAnalysis analysis = fleet::analyse(group);
  const fleet::UnitSummary& worst = analysis.ranking.front();
  EXPECT_EQ(worst.unit, 3u);
  EXPECT_EQ(worst.verdict, UnitVerdict::kSlow);
  EXPECT_NEAR(worst.deviation, std::log(1.06), 0.002);
  EXPECT_EQ(worst.cells, 20u);
  EXPECT_EQ(worst.slow_cells, 20u);
  EXPECT_GT(worst.z, 3.5);
  for (std::size_t u = 0; u < 8; ++u) {
    EXPECT_EQ(summary_of(analysis, u).verdict, u == 3 ? UnitVerdict::kSlow : UnitVerdict::kOk) << u;
  }
}

TEST(FleetAnalysis, DescribesEachCell) {
  fleet::Group group = group_of(5, 1);
  const double times[] = {1.00, 1.02, 1.01, 0.99, 1.10};
  for (std::size_t u = 0; u < 5; ++u) group.units[u].values[0].time_s = times[u];
  const fleet::CellSummary cell = fleet::analyse(group).cells.at(0);
  EXPECT_EQ(cell.units, 5u);
  EXPECT_NEAR(cell.median_s, 1.01, 1e-12);
  EXPECT_NEAR(cell.mad, 1.01 / 1.00 - 1.0, 1e-4);
  EXPECT_NEAR(cell.lowest_s, 0.99, 1e-12);
  EXPECT_NEAR(cell.highest_s, 1.10, 1e-12);
  EXPECT_EQ(cell.lowest_unit, 3u);
  EXPECT_EQ(cell.highest_unit, 4u);
}

TEST(FleetAnalysis, FewerThanFiveAreRankedWithoutVerdicts) {
  fleet::Group group = group_of(4, 20);
  slow_down(group.units[2], 1.5);
  const fleet::GroupAnalysis analysis = fleet::analyse(group);
  EXPECT_EQ(analysis.ranking.front().unit, 2u);
  for (const fleet::UnitSummary& unit : analysis.ranking) {
    EXPECT_EQ(unit.verdict, UnitVerdict::kNone);
  }
}

TEST(FleetAnalysis, ThreePercentIsNotSlowHoweverQuietTheFleet) {
  fleet::Group group = group_of(8, 20);
  slow_down(group.units[0], 1.027);
  EXPECT_EQ(verdict_of(group, 0), UnitVerdict::kOk);
}

TEST(FleetAnalysis, AFasterUnitIsNotSlow) {
  fleet::Group group = group_of(8, 20);
  slow_down(group.units[0], 0.8);
  EXPECT_EQ(verdict_of(group, 0), UnitVerdict::kOk);
}

TEST(FleetAnalysis, TheNoiseOfItsOwnRunExcusesAUnit) {
  fleet::Group group = group_of(8, 20);
  slow_down(group.units[0], 1.06);
  for (fleet::UnitValue& value : group.units[0].values) value.log_error = 0.03;
  EXPECT_EQ(verdict_of(group, 0), UnitVerdict::kOk);
}

TEST(FleetAnalysis, AFifthOfTheCellsIsWhatItTakes) {
  fleet::Group group = group_of(8, 30);
  for (std::size_t c = 0; c < 30; ++c) group.units[0].values[c].time_s = kTime_s * 1.0025;
  for (const std::size_t c : {1u, 2u, 4u}) group.units[0].values[c].time_s *= 1.06;
  EXPECT_EQ(verdict_of(group, 0), UnitVerdict::kOk);  // 3 of the 20 that the memory does not bind
  group.units[0].values[5].time_s *= 1.06;
  EXPECT_EQ(verdict_of(group, 0), UnitVerdict::kSlow);
}

TEST(FleetAnalysis, ASignTestAsksTheOtherCells) {
  fleet::Group group = group_of(8, 30);
  for (fleet::UnitValue& value : group.units[0].values) value.time_s = kTime_s * 0.99;
  slow_down(group.units[0], 1.08, 0, 3);  // a third is much slower, two thirds are faster
  for (fleet::FleetCell& cell : group.cells) cell.bound = fleet::Bound::kUnknown;
  EXPECT_EQ(verdict_of(group, 0), UnitVerdict::kUnsure);
}

TEST(FleetAnalysis, CellsThatTheMemoryBindsAreJudgedApart) {
  fleet::Group group = group_of(8, 36);
  for (fleet::UnitValue& value : group.units[0].values) value.time_s = kTime_s * 0.99;
  slow_down(group.units[0], 1.08, 0, 3);
  const fleet::GroupAnalysis analysis = fleet::analyse(group);
  const fleet::UnitSummary& unit = summary_of(analysis, 0);
  EXPECT_EQ(unit.verdict, UnitVerdict::kSlow);
  EXPECT_GT(*unit.memory_deviation, 0.05);
  EXPECT_LT(*unit.other_deviation, 0.0);
  EXPECT_EQ(unit.cause, "memory only");
}

TEST(FleetAnalysis, FewCellsGiveNoCertainty) {
  fleet::Group group = group_of(8, 9);
  slow_down(group.units[0], 1.2);
  EXPECT_EQ(verdict_of(group, 0), UnitVerdict::kUnsure);
}

TEST(FleetAnalysis, ARunThatFailedIsNoSpeed) {
  fleet::Group group = group_of(8, 20);
  group.units[0].complete = false;
  group.units[1].failed = 1;
  EXPECT_EQ(verdict_of(group, 0), UnitVerdict::kFailed);
  EXPECT_EQ(verdict_of(group, 1), UnitVerdict::kFailed);
}

TEST(FleetAnalysis, AUnitWithoutACommonCellHasNoVerdict) {
  fleet::Group group = group_of(8, 20);
  for (fleet::UnitValue& value : group.units[0].values) value = {};
  const fleet::GroupAnalysis analysis = fleet::analyse(group);
  EXPECT_EQ(summary_of(analysis, 0).verdict, UnitVerdict::kNone);
  EXPECT_EQ(summary_of(analysis, 0).cells, 0u);
  EXPECT_EQ(summary_of(analysis, 1).verdict, UnitVerdict::kOk);
  EXPECT_EQ(analysis.cells[0].units, 7u);
}

TEST(FleetAnalysis, LargeFleetsTakeAHigherZ) {
  EXPECT_DOUBLE_EQ(fleet::analyse(group_of(1, 1)).z_limit, 3.5);
  EXPECT_NEAR(fleet::analyse(group_of(1000, 1)).z_limit, 4.75, 0.01);
}

TEST(FleetAnalysis, NamesALikelyCause) {
  const auto cause = [](const auto& change) {
    fleet::Group group = group_of(8, 20);
    slow_down(group.units[0], 1.08);
    change(group.units[0]);
    return summary_of(fleet::analyse(group), 0).cause;
  };
  const auto lower_clocks = [](fleet::Unit& unit) {
    for (fleet::UnitValue& value : unit.values) value.clock_hz = 1.8e9;
  };
  EXPECT_EQ(cause([](fleet::Unit&) {}), "unknown");
  EXPECT_EQ(cause(lower_clocks), "low clock");
  EXPECT_EQ(cause([&](fleet::Unit& unit) {
              lower_clocks(unit);
              unit.temperature_c = 85.0;
            }),
            "heat");
  EXPECT_EQ(cause([&](fleet::Unit& unit) {
              lower_clocks(unit);
              unit.throttle_reasons = {"sw_power_cap"};
            }),
            "power cap");
  EXPECT_EQ(cause([&](fleet::Unit& unit) {  // a busy GPU is warmer than those that wait
              lower_clocks(unit);
              unit.temperature_c = 65.0;
              unit.throttle_reasons = {"software power cap"};
            }),
            "power cap");
  EXPECT_EQ(cause([&](fleet::Unit& unit) {
              lower_clocks(unit);
              unit.throttle_reasons = {"software power cap", "hardware thermal slowdown"};
            }),
            "heat");
  EXPECT_EQ(cause([&](fleet::Unit& unit) {
              lower_clocks(unit);
              unit.power_w = 690.0;
              unit.power_limit_w = 700.0;
            }),
            "power cap");
}

// Whoever shares a GPU may be the reason of all else that its report shows.
TEST(FleetAnalysis, NamesAnotherProcessWhereFewUnitsHaveOne) {
  const auto cause = [](std::size_t units_that_share, int processes) {
    fleet::Group group = group_of(8, 20);
    fleet::Unit& slow = group.units[0];
    slow_down(slow, 2.0);
    for (fleet::UnitValue& value : slow.values) value.clock_hz = 1.7e9;
    slow.throttle_reasons = {"software power cap"};
    for (std::size_t u = 0; u < 8; ++u) {
      group.units[u].other_processes = u < units_that_share ? processes : 0;
    }
    return summary_of(fleet::analyse(group), 0).cause;
  };
  EXPECT_EQ(cause(1, 1), "another process");
  EXPECT_EQ(cause(3, 2), "another process");
  EXPECT_EQ(cause(4, 1), "unknown");  // half of them have one: it slows nobody down
  EXPECT_EQ(cause(1, 0), "unknown");
}

TEST(FleetTicket, TellsOfOtherProcessesWhereTheyWereCounted) {
  fleet::Fleet fleet;
  fleet.groups.push_back(group_of(8, 20));
  fleet::Unit& slow = fleet.groups[0].units[0];
  slow_down(slow, 1.1);
  const auto ticket = [&] {
    return text::markdown(fleet::ranking_document({fleet, {fleet::analyse(fleet.groups[0])}}));
  };
  EXPECT_THAT(ticket(), Not(HasSubstr("other processes")));
  slow.other_processes = 2;
  EXPECT_THAT(ticket(), AllOf(HasSubstr("- likely cause: another process\n"),
                              HasSubstr("- other processes on the GPU: 2\n")));
}

TEST(FleetGate, FailsForWhatIsSlowFailedOrNotThere) {
  fleet::Fleet fleet;
  fleet.groups.push_back(group_of(8, 20));
  const auto decide = [&] { return fleet::decide_gate(fleet, {fleet::analyse(fleet.groups[0])}); };
  EXPECT_EQ(decide().code, ExitCode::kOk);
  EXPECT_THAT(decide().reasons, IsEmpty());
  fleet.missing = {"node9"};
  EXPECT_THAT(decide().reasons, ElementsAre("1 name missing"));
  EXPECT_EQ(decide().code, ExitCode::kGateFailed);
  slow_down(fleet.groups[0].units[0], 1.1);
  fleet.groups[0].units[1].complete = false;
  fleet.refused.resize(2);
  fleet.unread.resize(1);
  EXPECT_THAT(decide().reasons, ElementsAre("1 unit SLOW", "1 unit FAILED", "1 name missing",
                                            "2 reports refused", "1 file not read"));
}

TEST(FleetGate, IsInconclusiveWhereNothingIsJudged) {
  fleet::Fleet fleet;
  fleet.groups.push_back(group_of(4, 20));
  const compare::GateDecision gate = fleet::decide_gate(fleet, {fleet::analyse(fleet.groups[0])});
  EXPECT_EQ(gate.code, ExitCode::kInconclusive);
  EXPECT_THAT(gate.reasons, ElementsAre("4 units without a verdict"));
}

TEST(FleetGate, NamesUnitsThatLackCells) {
  fleet::Fleet fleet;
  fleet.groups.push_back(group_of(8, 20));
  fleet::Unit& unit = fleet.groups[0].units[3];
  for (std::size_t cell = 5; cell < 20; ++cell) unit.values[cell] = {};
  const std::vector<fleet::GroupAnalysis> analyses = {fleet::analyse(fleet.groups[0])};
  EXPECT_EQ(summary_of(analyses[0], 3).missing.size(), 15u);
  EXPECT_TRUE(summary_of(analyses[0], 2).missing.empty());
  const compare::GateDecision gate = fleet::decide_gate(fleet, analyses);
  EXPECT_EQ(gate.code, ExitCode::kInconclusive);
  EXPECT_THAT(gate.reasons, ElementsAre("1 unit without cells that most have"));
  EXPECT_THAT(fleet::ranking_table({fleet, analyses}, {.width = 100}),
              HasSubstr("lacks 15 cells that most have, the first"));
}

TEST(FleetTable, SaysWhyAUnitFailedAndKeepsTheHost) {
  fleet::Fleet fleet;
  fleet.groups.push_back(group_of(8, 20));
  for (fleet::Unit& unit : fleet.groups[0].units) {
    unit.id = "GPU-6f1c3c52-8b7f-5d2c-9f57-2f4c7b1f7a10";
    unit.host = "node17.cluster";
    unit.power_w = unit.temperature_c = 60.0;
    unit.throttled = 0.5;
  }
  fleet.groups[0].units[2].failed = 3;
  fleet.groups[0].units[2].failure = "fused: 12 of 64 elements differ";
  const std::vector<fleet::GroupAnalysis> analyses = {fleet::analyse(fleet.groups[0])};
  const std::string table = fleet::ranking_table({fleet, analyses}, {.width = 100});
  EXPECT_THAT(table, HasSubstr("node17.cluster"));
  EXPECT_THAT(table, HasSubstr("3 measurements wrong or impossible, the first fused: 12 of 64"));
  EXPECT_THAT(fleet::ranking_json({fleet, analyses}),
              HasSubstr("\"failure\": \"fused: 12 of 64 elements differ\""));
}

TEST(FleetMetrics, HaveASeriesForEachUnitAndEnd) {
  fleet::Fleet fleet;
  fleet.groups.push_back(group_of(8, 20));
  fleet.groups[0].units[0].host = "a\"b";
  fleet.groups[0].units[2].host = "a\x1b[31m\nb";
  slow_down(fleet.groups[0].units[1], 1.1);
  const std::string text = fleet::ranking_metrics({fleet, {fleet::analyse(fleet.groups[0])}});
  EXPECT_THAT(text, HasSubstr("# TYPE nf4bench_unit_deviation_ratio gauge\n"));
  EXPECT_THAT(text, HasSubstr("host=\"a\\\"b\""));
  EXPECT_THAT(text, HasSubstr("host=\"a\\\\x1b[31m\\\\nb\""));
  EXPECT_THAT(text, HasSubstr("verdict=\"SLOW\"} 1\n"));
  EXPECT_TRUE(text.ends_with("# EOF\n"));
}

}  // namespace
}  // namespace nf4bench
