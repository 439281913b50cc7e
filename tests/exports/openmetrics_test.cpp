#include "exports/exported.hpp"
#include "report/sample_reports.hpp"
#include "scratch.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <limits>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace nf4bench {
namespace {

using test::exported;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

std::vector<std::string> lines_of(const record::Report& report) {
  return test::lines_of(exported(exports::to_openmetrics, report));
}

std::size_t count_of(const std::vector<std::string>& lines, const std::string& metric) {
  return static_cast<std::size_t>(std::ranges::count_if(
      lines, [&](const std::string& line) { return line.starts_with(metric + "{"); }));
}

TEST(OpenMetrics, EveryLineIsAHelpATypeOrASampleWithoutATime) {
  const std::regex sample(
      R"re((nf4bench_[a-z_]+)\{([a-z_]+="([^"\\\n]|\\["\\n])*",?)*\} [-+0-9.e]+)re");
  std::set<std::string> described;
  std::set<std::string> series;
  std::vector<std::string> lines = lines_of(gpu_report());
  EXPECT_EQ(lines.back(), "# EOF");
  lines.pop_back();
  for (const std::string& line : lines) {
    std::smatch match;
    if (line.starts_with("# HELP ")) continue;
    if (line.starts_with("# TYPE ")) {
      ASSERT_THAT(line, EndsWith(" gauge"));
      EXPECT_TRUE(described.insert(line.substr(7, line.rfind(' ') - 7)).second) << line;
      continue;
    }
    ASSERT_TRUE(std::regex_match(line, match, sample)) << line;
    EXPECT_TRUE(described.contains(match[1])) << line;
    EXPECT_TRUE(series.insert(line.substr(0, line.rfind(' '))).second) << "twice: " << line;
  }
  EXPECT_GT(series.size(), 20u);
}

TEST(OpenMetrics, ValuesAreInBaseUnits) {
  record::Report report = gpu_report();
  report.finished_at = "2026-03-04T05:06:07Z";
  const std::vector<std::string> lines = lines_of(report);
  const record::Measurement& m = report.measurements[0];
  const std::string text = exported(exports::to_openmetrics, report);
  EXPECT_THAT(text, HasSubstr("variant=\"branch_tree\""));
  EXPECT_THAT(text, HasSubstr(json::json_number(m.time_s->median).text + "\n"));
  EXPECT_THAT(text, HasSubstr("} 1772600767\n"));
  EXPECT_EQ(count_of(lines, "nf4bench_build_info"), 1u);
  EXPECT_EQ(count_of(lines, "nf4bench_measurement_passed"), report.measurements.size());
  EXPECT_LT(count_of(lines, "nf4bench_call_seconds"), report.measurements.size());
  EXPECT_EQ(text.back(), '\n');
}

TEST(OpenMetrics, WhatIsNotKnownIsLeftOut) {
  record::Report report = gpu_report();
  report.finished_at.clear();
  report.ceilings = {};
  report.measurements.resize(1);
  report.measurements[0].speedup.reset();
  report.measurements[0].bytes_per_s = std::numeric_limits<double>::infinity();
  const std::string text = exported(exports::to_openmetrics, report);
  for (const char* metric : {"last_run_timestamp_seconds", "copy_bytes_per_second", "speedup_ratio",
                             "call_bytes_per_second"}) {
    EXPECT_THAT(text, Not(HasSubstr(metric))) << metric;
  }
  EXPECT_THAT(text, HasSubstr("nf4bench_call_seconds"));
}

TEST(OpenMetrics, TextOfTheReportStaysInItsLabel) {
  record::Report report = gpu_report();
  report.measurements.resize(1);
  report.measurements[0].variant = "a\"} 1\nb\\c\x1b[2J";
  const std::string text = exported(exports::to_openmetrics, report);
  EXPECT_THAT(text, HasSubstr(R"(variant="a\"} 1\\nb\\c\\x1b[2J")"));
}

}  // namespace
}  // namespace nf4bench
