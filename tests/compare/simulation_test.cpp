// How often verdicts are right, by simulation. The figures stand in docs/method.md; the seeds are
// fixed, so that they are the same everywhere but for the last digit of the library's functions.

#include "compare/compare_reports.hpp"
#include "compare/report_maker.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace nf4bench {
namespace {

using test::NoiseModel;
using test::RunSimulator;

// What a series of comparisons came to.
struct Tally {
  int comparisons = 0;
  int alarms = 0;        // comparisons with a SLOWER or FASTER cell that did not change
  int cells = 0;         // unchanged ones
  int alarm_cells = 0;   // of these SLOWER or FASTER
  int unsure_cells = 0;  // of these UNSURE
  int slowed = 0;        // cells made slower
  int caught = 0;        // of these SLOWER

  double alarm_rate() const { return static_cast<double>(alarms) / comparisons; }
  double caught_rate() const { return static_cast<double>(caught) / slowed; }
};

struct Study {
  const char* name = "";
  int comparisons = 1000;
  int runs_a_side = 1;
  int cells = 1;
  double slowdown = 1.0;  // of the first cell of the new side
  NoiseModel noise = {};
};

std::vector<report::NamedReport> draw_side(RunSimulator& simulator, const Study& study,
                                           double slowdown) {
  std::vector<double> medians_s;
  medians_s.reserve(static_cast<std::size_t>(study.cells));
  for (int i = 0; i < study.cells; ++i) medians_s.push_back(5e-6 * (i + 1));
  medians_s[0] *= slowdown;
  std::vector<report::NamedReport> side;
  side.reserve(static_cast<std::size_t>(study.runs_a_side));
  for (int i = 0; i < study.runs_a_side; ++i) side.push_back(simulator.draw(medians_s));
  return side;
}

void count_cells(Tally& tally, const compare::ComparisonResult& result, bool is_first_slowed) {
  bool has_alarm = false;
  for (std::size_t i = 0; i < result.cells.size(); ++i) {
    const compare::CellVerdict verdict = result.cells[i].ruling.verdict;
    if (i == 0 && is_first_slowed) {
      ++tally.slowed;
      tally.caught += verdict == compare::CellVerdict::kSlower ? 1 : 0;
      continue;
    }
    const bool is_alarm =
        verdict == compare::CellVerdict::kSlower || verdict == compare::CellVerdict::kFaster;
    ++tally.cells;
    tally.alarm_cells += is_alarm ? 1 : 0;
    tally.unsure_cells += verdict == compare::CellVerdict::kUnsure ? 1 : 0;
    has_alarm = has_alarm || is_alarm;
  }
  ++tally.comparisons;
  tally.alarms += has_alarm ? 1 : 0;
}

void print(const Study& study, const Tally& tally) {
  fmt::print("[ FIGURES  ] {}: ", study.name);
  if (tally.slowed > 0) fmt::print("{:.2f} % caught; ", 100.0 * tally.caught_rate());
  fmt::print("{:.2f} % of comparisons raise a false alarm", 100.0 * tally.alarm_rate());
  if (tally.cells > 0) {
    fmt::print(", {:.2f} % of unchanged cells are UNSURE",
               100.0 * tally.unsure_cells / tally.cells);
  }
  fmt::print("\n");
}

Tally run_study(const Study& study, std::uint64_t seed) {
  RunSimulator simulator(study.noise, seed);
  Tally tally;
  for (int i = 0; i < study.comparisons; ++i) {
    const std::vector<report::NamedReport> base = draw_side(simulator, study, 1.0);
    const std::vector<report::NamedReport> fresh = draw_side(simulator, study, study.slowdown);
    count_cells(tally, compare::compare_reports(base, fresh, {}), study.slowdown != 1.0);
  }
  print(study, tally);
  return tally;
}

NoiseModel doubled_noise() {
  NoiseModel noise;
  noise.run_offset *= 2.0;
  noise.cell_offset *= 2.0;
  return noise;
}

TEST(Simulation, OneRunAgainstItselfRaisesFewFalseAlarms) {
  const Tally tally = run_study({.name = "A/A, 1 cell, 1 run a side", .comparisons = 10000}, 1);
  EXPECT_LE(tally.alarm_rate(), 0.01);
  // A rule that never finds anything would pass the line above, but this noise does cross the
  // threshold.
  EXPECT_GT(tally.alarms, 0);
}

TEST(Simulation, SeveralRunsAgainstThemselvesRaiseFewFalseAlarms) {
  const Tally tally =
      run_study({.name = "A/A, 1 cell, 3 runs a side", .comparisons = 4000, .runs_a_side = 3}, 2);
  EXPECT_LE(tally.alarm_rate(), 0.01);
}

TEST(Simulation, AWholeReportAgainstItselfRaisesFewFalseAlarms) {
  const Tally tally =
      run_study({.name = "A/A, 66 cells, 1 run a side", .comparisons = 700, .cells = 66}, 3);
  EXPECT_LE(tally.alarm_rate(), 0.01);
  EXPECT_LE(tally.unsure_cells, tally.cells / 50);
}

TEST(Simulation, OneRunCatchesASlowdownOfFivePercent) {
  const Tally tally = run_study(
      {.name = "5 % slower, 1 cell, 1 run a side", .comparisons = 6000, .slowdown = 1.05}, 4);
  EXPECT_GE(tally.caught_rate(), 0.99);
}

TEST(Simulation, OneSlowCellAmongManyIsCaught) {
  const Tally tally = run_study({.name = "5 % slower, 1 of 66 cells, 1 run a side",
                                 .comparisons = 700,
                                 .cells = 66,
                                 .slowdown = 1.05},
                                5);
  EXPECT_GE(tally.caught_rate(), 0.99);
  EXPECT_LE(tally.alarm_rate(), 0.01);
}

// Two runs on each side say little about their own scatter. They must not detect less than single
// runs.
TEST(Simulation, TwoRunsASideCatchASlowdownOfFivePercent) {
  const Tally tally = run_study({.name = "5 % slower, 1 of 20 cells, 2 runs a side",
                                 .comparisons = 1000,
                                 .runs_a_side = 2,
                                 .cells = 20,
                                 .slowdown = 1.05},
                                6);
  EXPECT_GE(tally.caught_rate(), 0.99);
  EXPECT_LE(tally.alarm_rate(), 0.01);
}

// Several runs show that a machine is noisier than stated.
TEST(Simulation, SeveralRunsHoldTheirGroundAtTwiceTheStatedNoise) {
  run_study({.name = "A/A at twice the noise, 1 cell, 1 run a side",
             .comparisons = 3000,
             .noise = doubled_noise()},
            7);
  const Tally tally = run_study({.name = "A/A at twice the noise, 1 cell, 3 runs a side",
                                 .comparisons = 3000,
                                 .runs_a_side = 3,
                                 .noise = doubled_noise()},
                                8);
  EXPECT_LE(tally.alarm_rate(), 0.015);
}

TEST(Simulation, SlowdownsBelowTheThresholdAreNotCalledSlower) {
  const Tally tally = run_study(
      {.name = "0.5 % slower, 1 cell, 1 run a side", .comparisons = 3000, .slowdown = 1.005}, 9);
  EXPECT_LE(tally.caught_rate(), 0.03);
}

}  // namespace
}  // namespace nf4bench
