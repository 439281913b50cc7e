#include "report/ranking.hpp"

#include "report/sample_reports.hpp"

#include <gtest/gtest.h>

namespace nf4bench {
namespace {

record::Measurement row(const std::string& variant, double median_s, double half_width) {
  record::Measurement m;
  m.variant = variant;
  m.status = record::Status::kPassed;
  m.time_s.emplace().median = median_s;
  m.time_s->ci95 =
      statistics::Interval{median_s * (1.0 - half_width), median_s * (1.0 + half_width)};
  return m;
}

// "fast" for a crown, "fast? slow?" when nobody can say.
std::string ranked(const std::vector<record::Measurement>& rows) {
  std::vector<const record::Measurement*> pointers;
  for (const record::Measurement& each : rows) pointers.push_back(&each);
  const report::Ranking ranking = report::rank(pointers);
  std::string text = ranking.fastest != nullptr ? ranking.fastest->variant : "";
  for (const record::Measurement* each : ranking.candidates) {
    text += (text.empty() ? "" : " ") + each->variant + "?";
  }
  return text;
}

TEST(Ranking, CrownsTheShortestMedian) {
  EXPECT_EQ(ranked({row("slow", 2.0, 0.01), row("fast", 1.0, 0.01)}), "fast");
  EXPECT_EQ(ranked({row("as_good", 1.001, 0.004), row("fast", 1.0, 0.004)}), "fast");
}

TEST(Ranking, LeavesReferenceLinesOut) {
  record::Measurement resident = row("resident", 0.5, 0.01);
  resident.reference_line = true;
  EXPECT_EQ(ranked({row("slow", 2.0, 0.01), resident, row("fast", 1.0, 0.01)}), "fast");
  EXPECT_EQ(ranked({resident, row("fast", 1.0, 0.01)}), "");
}

TEST(Ranking, CrownsNobodyWhoIsAlone) {
  EXPECT_EQ(ranked({row("fast", 1.0, 0.01)}), "");
  EXPECT_EQ(ranked({}), "");
}

TEST(Ranking, OfWideSpreadsIsOpen) {
  EXPECT_EQ(ranked({row("a", 1.0, 0.30), row("b", 1.1, 0.01), row("c", 2.0, 0.01)}), "a? b?");
  EXPECT_EQ(ranked({row("a", 1.0, 0.01), row("b", 1.1, 0.30), row("c", 2.0, 0.01)}), "a? b?");
}

TEST(Ranking, IgnoresTheSpreadOfWhoIsFarBehind) {
  EXPECT_EQ(ranked({row("a", 1.0, 0.01), row("b", 3.0, 0.50)}), "a");
}

record::Measurement busy(const std::string& variant, double median_s, double ratio,
                         double half_width) {
  record::Measurement m = row(variant, median_s, 0.4);
  m.load = record::HostLoad{.processors = 2, .others = 1.0, .disturbed = true};
  m.speedup = record::Speedup{.baseline = "base", .ratio = ratio};
  m.speedup->ci95 = statistics::Interval{ratio - half_width, ratio + half_width};
  return m;
}

TEST(Ranking, OnABusyMachineIsThatOfSpeedups) {
  const record::Measurement base = busy("base", 1.0, 1.0, 0.0);
  EXPECT_EQ(ranked({base, busy("fast", 0.9, 8.0, 0.5)}), "fast");
  EXPECT_EQ(ranked({base, busy("fast", 1.1, 8.0, 0.5), busy("as_good", 0.1, 7.6, 0.2)}),
            "fast? as_good?");
  EXPECT_EQ(ranked({base, busy("fast", 1.1, 8.0, 0.5), busy("behind", 0.1, 7.2, 0.2)}), "fast");
  EXPECT_EQ(ranked({base, busy("equal", 1.0, 0.98, 0.03)}), "base? equal?");
}

TEST(Ranking, CrownsNobodyOnABusyMachineWithoutSpeedups) {
  record::Measurement a = row("a", 12e-3, 0.0);
  record::Measurement b = row("b", 11e-3, 0.0);
  for (record::Measurement* each : {&a, &b}) {
    each->load = record::HostLoad{.processors = 2, .others = 1.0, .disturbed = true};
  }
  EXPECT_EQ(ranked({a, b}), "a? b?");
  EXPECT_EQ(report::doubt_of(a), "busy machine");
}

TEST(Ranking, NeedsIntervals) {
  record::Measurement few = row("few", 5.0, 0.0);
  few.time_s->ci95.reset();
  EXPECT_EQ(ranked({row("a", 1.0, 0.01), few}), "a? few?");
  EXPECT_EQ(report::doubt_of(few), "few samples");
}

TEST(LoadWarnings, AreNotGivenOnAQuietMachine) {
  EXPECT_TRUE(report::load_warnings(cpu_report()).empty());
  EXPECT_TRUE(report::load_warnings(gpu_report()).empty());
}

TEST(LoadWarnings, NameTheWorstAndTheRemedy) {
  record::Report report = cpu_report();
  for (record::Measurement& m : report.measurements) {
    m.load = record::HostLoad{.processors = 4, .others = 2.0625, .disturbed = true};
  }
  const std::vector<std::string> warnings = report::load_warnings(report);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(
      warnings[0],
      "Other programs kept up to 2.1 of 4 processors busy while 1 of 1 cells were timed: those "
      "times are a scheduler's; wait until it is quiet, or leave processors to the others "
      "(--threads 1); nf4bench doctor tells more.");
  EXPECT_EQ(warnings[0].find('\n'), std::string::npos);
}

TEST(LoadWarnings, SendLaunchesOfAGpuToGraphs) {
  record::Report report = gpu_report();
  report.measurements[0].load =
      record::HostLoad{.processors = 4, .others = 3.9, .stolen = 0.02, .disturbed = true};
  const std::vector<std::string> warnings = report::load_warnings(report);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("and the host took 2 % of their time"), std::string::npos);
  EXPECT_NE(warnings[0].find("--launch graph"), std::string::npos);
}

}  // namespace
}  // namespace nf4bench
