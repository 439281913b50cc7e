// Fleets drawn at the noise of recorded runs: how often an unremarkable fleet has a SLOW unit, and
// how often a slow one is found. NF4BENCH_FLEETS in the environment says how many fleets of eight
// are drawn; docs/fleet.md states what 10,000 show.

#include "compare/run_cells.hpp"
#include "fleet/analysis.hpp"
#include "fleet/builder.hpp"
#include "report/report.hpp"
#include "source_dir.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <numbers>
#include <numeric>
#include <random>

namespace nf4bench {
namespace {

// What a cell was like on eight H200, each measured alone, and four of them together, too.
struct RecordedCell {
  fleet::FleetCell cell;
  double median_s = 0.0;
  double log_error = 0.0;
  std::vector<double> deviations;  // of the logarithm, on each board, from their mean
  double run_noise = 0.0;          // relative standard deviation from one run to the next
};

using Values = std::map<compare::CellKey, compare::RunValue>;

// By the names of the reports, which are the boards' UUIDs.
std::map<std::string, Values> boards_in(const std::string& folder) {
  std::map<std::string, Values> boards;
  for (const auto& file : std::filesystem::directory_iterator(std::string(NF4BENCH_SOURCE_DIR) +
                                                              "/docs/results/h200-x4/" + folder)) {
    const auto report = report::read_report(file.path().string());
    Values& values = boards[file.path().stem().string()];
    for (const compare::RunCell& cell : compare::run_cells(report.report, compare::Metric::kTime)) {
      values[cell.key] = cell.value;
    }
  }
  return boards;
}

const std::vector<RecordedCell>& recorded_cells() {
  static const std::vector<RecordedCell> kCells = [] {
    std::vector<RecordedCell> cells;
    const auto alone = boards_in("alone");
    const auto together = boards_in("together");
    for (const auto& [key, value] : alone.begin()->second) {
      const bool is_memory = *value.fraction_of_copy >= fleet::kMemoryBound;
      RecordedCell cell = {
          .cell = {.name = compare::block_text(key) + key.variant,
                   .bound = is_memory ? fleet::Bound::kMemory : fleet::Bound::kOther},
          .median_s = value.time_s,
          .log_error = value.log_error,
          .deviations = {},
          .run_noise = 0.0};
      double mean = 0.0;
      for (const auto& [board, values] : alone) {
        mean += values.at(key).log_cost / static_cast<double>(alone.size());
      }
      for (const auto& [board, values] : alone) {
        cell.deviations.push_back(values.at(key).log_cost - mean);
      }
      // Two runs of a board differ by the noise of both.
      double squares = 0.0;
      for (const auto& [board, values] : together) {
        const double between = values.at(key).log_cost - alone.at(board).at(key).log_cost;
        squares += between * between / 2.0;
      }
      cell.run_noise = std::sqrt(squares / static_cast<double>(together.size()));
      cells.push_back(std::move(cell));
    }
    return cells;
  }();
  return kCells;
}

// How units differ. All standard deviations are relative.
struct UnitNoise {
  double offset = 0.0;  // common to all cells of a unit
};

class FleetSimulator {
 public:
  FleetSimulator(UnitNoise noise, std::uint64_t seed) : noise_(noise), random_(seed) {
    for (const RecordedCell& cell : recorded_cells()) group_.cells.push_back(cell.cell);
  }

  // Units differ as the recorded boards do: their deviations are mixed by normal factors, so that
  // all cells vary and vary together as they did.
  fleet::Group draw(std::size_t units) {
    fleet::Group group = group_;
    const std::size_t boards = recorded_cells().front().deviations.size();
    std::vector<double> mixture(boards);
    for (std::size_t u = 0; u < units; ++u) {
      for (double& share : mixture) share = normal() / std::sqrt(static_cast<double>(boards - 1));
      const double offset = noise_.offset * normal();
      group.units.emplace_back();
      group.units.back().complete = true;
      for (const RecordedCell& cell : recorded_cells()) {
        const double own = std::inner_product(mixture.begin(), mixture.end(),
                                              cell.deviations.begin(), cell.run_noise * normal());
        group.units.back().values.push_back(
            {cell.median_s * std::exp(offset + own), cell.log_error, 0.0});
      }
    }
    return group;
  }

  // Makes unit 0 take `factor` of the median of its fleet, apart from the noise of its run.
  void slow_down(fleet::Group& group, double factor) {
    const fleet::GroupAnalysis analysis = fleet::analyse(group);
    for (std::size_t cell = 0; cell < group.cells.size(); ++cell) {
      const double own = recorded_cells()[cell].run_noise * normal();
      group.units[0].values[cell].time_s = analysis.cells[cell].median_s * factor * std::exp(own);
    }
  }

 private:
  // Box-Muller: the library's own distributions differ from one library to another.
  double normal() {
    const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
    return radius * std::cos(2.0 * std::numbers::pi * uniform());
  }
  double uniform() { return static_cast<double>(random_() >> 11) * 0x1.0p-53; }

  UnitNoise noise_;
  std::mt19937_64 random_;
  fleet::Group group_;
};

bool has_slow_unit(const fleet::GroupAnalysis& analysis) {
  for (const fleet::UnitSummary& unit : analysis.ranking) {
    if (unit.verdict == fleet::UnitVerdict::kSlow) return true;
  }
  return false;
}

bool finds_unit_0_alone(const fleet::GroupAnalysis& analysis) {
  for (const fleet::UnitSummary& unit : analysis.ranking) {
    if ((unit.verdict == fleet::UnitVerdict::kSlow) != (unit.unit == 0)) return false;
  }
  return true;
}

struct Rates {
  int fleets = 0;
  double false_alarms = 0.0;  // share of the fleets in which nothing is wrong and a unit is SLOW
  double found = 0.0;         // share of those in which the slow unit, and no other, is SLOW
};

Rates rates_of(std::size_t units, UnitNoise noise, double factor) {
  const char* wanted = std::getenv("NF4BENCH_FLEETS");
  const int eights = wanted == nullptr ? 100 : std::atoi(wanted);
  FleetSimulator simulator(noise, 1000 * units + 7);
  Rates rates;
  rates.fleets = static_cast<int>(eights / std::sqrt(static_cast<double>(units) / 8.0));
  int alarms = 0;
  int found = 0;
  for (int i = 0; i < rates.fleets; ++i) {
    fleet::Group group = simulator.draw(units);
    alarms += has_slow_unit(fleet::analyse(group)) ? 1 : 0;
    simulator.slow_down(group, factor);
    found += finds_unit_0_alone(fleet::analyse(group)) ? 1 : 0;
  }
  rates.false_alarms = static_cast<double>(alarms) / rates.fleets;
  rates.found = static_cast<double>(found) / rates.fleets;
  fmt::print(
      "{} fleets of {}, offsets of {:.2f} %: {:.2f} % have a SLOW unit; one that is {:.0f} % "
      "slower is found in {:.2f} %\n",
      rates.fleets, units, 100.0 * noise.offset, 100.0 * rates.false_alarms, 100.0 * (factor - 1.0),
      100.0 * rates.found);
  return rates;
}

TEST(FleetSimulation, AtRecordedNoiseOnlySlowUnitsAreSlow) {
  ASSERT_EQ(recorded_cells().size(), 44u);
  ASSERT_EQ(recorded_cells().front().deviations.size(), 8u);
  for (const std::size_t units : {8u, 64u, 1024u}) {
    const Rates rates = rates_of(units, {}, 1.05);
    EXPECT_LT(rates.false_alarms, 0.01) << units;
    EXPECT_GT(rates.found, 0.99) << units;
  }
}

// Boards that differ by 0.7 % on average and by 1.3 % at times.
TEST(FleetSimulation, OffsetsOfHalfAPercentAreNoAlarm) {
  for (const std::size_t units : {8u, 64u, 1024u}) {
    const Rates rates = rates_of(units, {.offset = 0.005}, 1.05);
    EXPECT_LT(rates.false_alarms, 0.01) << units;
    EXPECT_GT(rates.found, 0.98) << units;
  }
}

// Twice as much: what is found less often is not traded for false alarms. Among 1,024 a cell is
// slow from 4.8 standard deviations on, which is 5 % here, so that half of the slow units pass.
TEST(FleetSimulation, OffsetsOfAPercentRaiseFewAlarms) {
  const std::map<std::size_t, double> least = {{8, 0.7}, {64, 0.7}, {1024, 0.2}};
  for (const auto& [units, found] : least) {
    const Rates rates = rates_of(units, {.offset = 0.01}, 1.05);
    EXPECT_LT(rates.false_alarms, 0.08) << units;
    EXPECT_GT(rates.found, found) << units;
  }
}

TEST(FleetSimulation, AUnitThatIsTwoPercentSlowerIsNotSlow) {
  EXPECT_EQ(rates_of(64, {}, 1.02).found, 0.0);
}

}  // namespace
}  // namespace nf4bench
