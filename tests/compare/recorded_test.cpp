// How verdicts do on runs that were recorded on H200s: docs/results/h200.

#include "compare/compare_reports.hpp"
#include "compare/gate.hpp"
#include "report/report.hpp"
#include "source_dir.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace nf4bench {
namespace {

report::NamedReport recorded(const std::string& name) {
  report::NamedReport named = report::read_report(NF4BENCH_SOURCE_DIR "/docs/results/h200/" + name);
  named.name = name;
  return named;
}

std::int64_t alarms(const compare::ComparisonResult& result) {
  return result.count(compare::CellVerdict::kSlower) + result.count(compare::CellVerdict::kFaster);
}

void print_scatter(const compare::ComparisonResult& result) {
  double squares = 0.0;
  double greatest = 0.0;
  for (const compare::ComparedCell& cell : result.cells) {
    squares += cell.change->log_ratio * cell.change->log_ratio;
    greatest = std::max(greatest, std::abs(cell.change->log_ratio));
  }
  fmt::print(
      "[ FIGURES  ] {} against {}: {} cells, medians differ by {:.2f} % (root mean square), "
      "{:.2f} % at most; {} alarms, {} UNSURE\n",
      result.fresh[0].name, result.base[0].name, result.cells.size(),
      100.0 * std::sqrt(squares / static_cast<double>(result.cells.size())), 100.0 * greatest,
      alarms(result), result.count(compare::CellVerdict::kUnsure));
}

TEST(Recorded, TwoRunsOnOneDeviceAreTheSame) {
  const compare::ComparisonResult result = compare::compare_reports(
      {recorded("llama-3.1-8b.json")}, {recorded("llama-3.1-8b-again.json")}, {});
  print_scatter(result);
  ASSERT_GE(result.measured(), 40);
  EXPECT_EQ(alarms(result), 0);
  EXPECT_GE(result.count(compare::CellVerdict::kSame), result.measured() * 95 / 100);
  EXPECT_EQ(compare::decide_gate(result, compare::Strictness::kLenient).code, ExitCode::kOk);
}

TEST(Recorded, RunsOnTwoDevicesOfAModelDoNotDifferBeyondTheirNoise) {
  const compare::ComparisonResult result =
      compare::compare_reports({recorded("geometries-one-board.json")},
                               {recorded("geometries-other-board.json")}, {.allowed = {"uuid"}});
  ASSERT_TRUE(result.is_comparable);
  print_scatter(result);
  EXPECT_EQ(alarms(result), 0);
}

TEST(Recorded, TimesOfTwoDevicesAreNotComparedUnlessAllowed) {
  EXPECT_FALSE(compare::compare_reports({recorded("geometries-one-board.json")},
                                        {recorded("geometries-other-board.json")}, {})
                   .is_comparable);
}

// Each cell in turn is made slower by 5 %, all others are left as they were recorded.
TEST(Recorded, ASlowdownOfFivePercentIsCaughtInEveryCell) {
  const report::NamedReport base = recorded("llama-3.1-8b.json");
  const report::NamedReport again = recorded("llama-3.1-8b-again.json");
  int caught = 0;
  int tried = 0;
  for (std::size_t i = 0; i < again.report.measurements.size(); ++i) {
    report::NamedReport slowed = again;
    record::Measurement& row = slowed.report.measurements[i];
    if (row.status != record::Status::kPassed) continue;
    for (double& sample : row.samples_s) sample *= 1.05;
    const compare::ComparisonResult result = compare::compare_reports({base}, {slowed}, {});
    ++tried;
    caught += result.count(compare::CellVerdict::kSlower) == 1 && alarms(result) == 1 ? 1 : 0;
  }
  fmt::print("[ FIGURES  ] 5 % slower on recorded samples: {} of {} cells caught\n", caught, tried);
  ASSERT_GE(tried, 40);
  EXPECT_GE(caught, static_cast<int>(std::ceil(0.99 * tried)));
}

}  // namespace
}  // namespace nf4bench
