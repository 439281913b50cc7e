#include "report/golden_file.hpp"
#include "report/report.hpp"
#include "report/sample_reports.hpp"
#include "report/tables.hpp"
#include "scratch.hpp"
#include "text/layout.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <regex>

namespace nf4bench {
namespace {

std::string first_line_with(const std::string& text, const std::string& part) {
  for (const std::string& line : test::lines_of(text)) {
    if (line.find(part) != std::string::npos) return line;
  }
  return "";
}

TEST(Table, LooksRightInNarrowTerminals) {
  expect_golden("gpu_60.txt", report::to_table(gpu_report(), {.width = 60}));
}

TEST(Table, LooksRightIn80Columns) {
  expect_golden("gpu_80.txt", report::to_table(gpu_report(), {.width = 80}));
}

TEST(Table, LooksRightIn100Columns) {
  expect_golden("gpu_100.txt", report::to_table(gpu_report(), {.width = 100}));
}

TEST(Table, LooksRightIn140Columns) {
  expect_golden("gpu_140.txt", report::to_table(gpu_report(), {.width = 140}));
}

TEST(Table, LooksRightForAnInterruptedRunOnACpu) {
  expect_golden("cpu_80.txt", report::to_table(cpu_report(), {.width = 80}));
}

TEST(Table, LooksRightForMatrixProductsIn80Columns) {
  expect_golden("matmul_80.txt", report::to_table(matmul_report(), {.width = 80}));
}

TEST(Table, LooksRightForMatrixProductsIn140Columns) {
  expect_golden("matmul_140.txt", report::to_table(matmul_report(), {.width = 140}));
}

TEST(Table, LooksRightForAnEmptyReport) {
  expect_golden("empty_80.txt", report::to_table(record::Report(), {.width = 80}));
}

TEST(Table, FitsEveryWidthFrom48Columns) {
  for (int width = 48; width <= 200; ++width) {
    for (const record::Report& report : {gpu_report(), matmul_report()}) {
      for (const std::string& line : test::lines_of(report::to_table(report, {.width = width}))) {
        ASSERT_LE(text::text_width(line), width) << line;
      }
    }
  }
}

TEST(Table, DropsColumnsInTheStatedOrder) {
  const std::vector<std::string> order = {"clock",  "samples", "p95",    "+/- %",        "% stream",
                                          "status", "GB/s",    "% copy", "95 % interval"};
  std::size_t gone = 0;
  for (int width = 200; width >= 40; --width) {
    const std::string header =
        first_line_with(report::to_table(gpu_report(), {.width = width}), "  variant");
    while (gone < order.size() && header.find(order[gone]) == std::string::npos) ++gone;
    for (std::size_t i = 0; i < order.size(); ++i) {
      EXPECT_EQ(header.find(order[i]) != std::string::npos, i >= gone) << width << order[i];
    }
  }
  EXPECT_EQ(gone, order.size());
}

TEST(Table, WritesNoEscapeCodesWithoutColour) {
  EXPECT_EQ(report::to_table(gpu_report(), {.width = 100}).find('\x1b'), std::string::npos);
}

TEST(Table, SaysTheSameWithAndWithoutColour) {
  const std::string coloured = report::to_table(gpu_report(), {.width = 100, .colour = true});
  EXPECT_NE(coloured.find('\x1b'), std::string::npos);
  const std::regex escape_code("\x1b\\[[0-9;]*m");
  EXPECT_EQ(std::regex_replace(coloured, escape_code, ""),
            report::to_table(gpu_report(), {.width = 100}));
}

TEST(Table, ClosesEveryColourOnItsLine) {
  for (const std::string& line :
       test::lines_of(report::to_table(gpu_report(), {.width = 80, .colour = true}))) {
    if (line.find('\x1b') == std::string::npos) continue;
    EXPECT_TRUE(line.starts_with("\x1b[") && line.ends_with("\x1b[0m")) << line;
    EXPECT_EQ(std::ranges::count(line, '\x1b'), 2) << line;
  }
}

TEST(Table, ShowsNoTimeForAWrongVariant) {
  record::Report report = gpu_report();
  report.measurements[3].time_s = report.measurements[0].time_s;
  report.measurements[3].speedup = report.measurements[0].speedup;
  EXPECT_EQ(report::to_table(report, {.width = 100}),
            report::to_table(gpu_report(), {.width = 100}));
}

TEST(Table, MarksThrottledRowsAndExplainsTheWord) {
  record::Report report = gpu_report();
  report.measurements[2].throttled_samples = 1;  // of seven
  const std::string table = report::to_table(report, {.width = 140});
  EXPECT_NE(first_line_with(table, "fused").find("throttled 14 %"), std::string::npos);
  EXPECT_TRUE(first_line_with(table, "multi_kernel").ends_with("passed"));
  EXPECT_NE(table.find("; throttled: passed, with so many samples whose SM clock"),
            std::string::npos);
}

TEST(Table, RoundsNoThrottledSampleAway) {
  record::Report report = gpu_report();
  report.measurements[2].samples_s.assign(400, 1e-5);
  report.measurements[2].throttled_samples = 1;
  EXPECT_NE(report::to_table(report, {.width = 140}).find("throttled <1 %"), std::string::npos);
}

std::string busy_table(int width) {
  record::Report report = cpu_report();
  for (record::Measurement& m : report.measurements) m.load->disturbed = true;
  return report::to_table(report, {.width = width});
}

TEST(Table, RanksByRatiosOnABusyMachineAndSaysOnceThatTimesAreInDoubt) {
  const std::string table = busy_table(140);
  EXPECT_EQ(first_line_with(table, "simd ").front(), '*');
  EXPECT_EQ(first_line_with(table, "reference ").front(), ' ');
  EXPECT_TRUE(first_line_with(table, "simd ").ends_with("busy machine"));
  EXPECT_LT(table.find("Busy machine: other programs ran"), table.find("simd "));
  EXPECT_EQ(table.find("? may be the fastest"), std::string::npos);
  EXPECT_EQ(first_line_with(busy_table(48), "simd ").front(), '*');
}

TEST(Table, SaysWhichRowsHaveTooFewSamples) {
  record::Report report = cpu_report();
  report.measurements[2].time_s->ci95.reset();
  report.measurements[2].speedup->ci95.reset();
  const std::string row = first_line_with(report::to_table(report, {.width = 140}), "simd ");
  EXPECT_EQ(row.front(), '?');
  EXPECT_NE(row.find("too few samples"), std::string::npos);
  EXPECT_TRUE(row.ends_with("few samples"));
}

TEST(Table, DoesNotSpeakOfThrottlingThatDidNotHappen) {
  record::Report report = gpu_report();
  report.state_after->throttle_reasons.clear();
  EXPECT_EQ(report::to_table(report, {.width = 140}).find("throttled"), std::string::npos);
}

TEST(Table, SaysWhoseTimeDependsOnCompany) {
  record::Report report = gpu_report();
  EXPECT_NE(report::to_table(report, {.width = 140}).find("company: Alone in a process of its own"),
            std::string::npos);
  report.measurements[1].alone =
      record::Alone{.median_s = 1e-4, .ci95 = statistics::Interval{0.99e-4, 1.01e-4}};
  const std::string table = report::to_table(report, {.width = 140});
  EXPECT_NE(table.find("company: multi_kernel at t0 bfloat16 cold graph takes 122.9 us in company "
                       "and 100.0 us alone (+22.9 %)."),
            std::string::npos)
      << table;
  for (record::Measurement& m : report.measurements) m.alone.reset();
  EXPECT_EQ(report::to_table(report, {.width = 140}).find("company"), std::string::npos);
}

TEST(Table, EscapesWhatAFileMaySay) {
  record::Report report = gpu_report();
  report.tensors[0].name = "evil\x1b[2J\nname";
  report.measurements[3].reason = "\x1b]0;title\x07";
  report.measurements[0].variant = "\x1b[31mred";
  report.device.name = "\x1b[5mGPU";
  report.warnings = {"\x1b[1mloud"};
  const std::string table = report::to_table(report, {.width = 100});
  EXPECT_EQ(table.find('\x1b'), std::string::npos);
  EXPECT_EQ(table.find('\x07'), std::string::npos);
  EXPECT_NE(table.find("evil\\x1b[2J\\nname"), std::string::npos);
}

TEST(Table, SurvivesMeasurementsOfUnknownTensors) {
  record::Report report = gpu_report();
  report.tensors.clear();
  EXPECT_NE(first_line_with(report::to_table(report, {.width = 100}), "t0  bf16  cold graph"), "");
}

TEST(Table, MarksNoFastestAmongOne) {
  record::Report report = cpu_report();
  report.measurements.resize(1);
  EXPECT_EQ(first_line_with(report::to_table(report, {.width = 80}), "reference ").front(), ' ');
}

}  // namespace
}  // namespace nf4bench
