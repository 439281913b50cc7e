#include "report/findings.hpp"

#include <gtest/gtest.h>

namespace nf4bench {
namespace {

using Warnings = std::vector<std::string>;

// `throttled` of ten samples.
record::Measurement row(const std::string& tensor, const std::string& variant,
                        std::int64_t throttled) {
  record::Measurement m;
  m.cell.operation = "dequantize";
  m.cell.tensor = tensor;
  m.variant = variant;
  m.cell.output_type = nf4::OutputType::kBfloat16;
  m.samples_s.assign(10, 1e-5);
  m.throttled_samples = throttled;
  return m;
}

TEST(ThrottlingWarnings, AreNotGivenForFewSamples) {
  record::Report report;
  report.measurements = {row("t0", "fused", 0), row("t0", "multi_kernel", 1)};
  EXPECT_EQ(report::throttling_warnings(report), Warnings());
}

TEST(ThrottlingWarnings, NameEachCellOnceWithItsWorstVariant) {
  record::Report report;
  report.measurements = {row("t0", "a", 2), row("t0", "b", 9), row("t0", "c", 3), row("t1", "a", 1),
                         row("t2", "a", 2)};
  report.measurements.back().cell.cache = record::CacheMode::kHot;
  EXPECT_EQ(report::throttling_warnings(report),
            Warnings{"Over 10 % of the samples had an SM clock more than 5 % under the highest of "
                     "their variant, in these cells (worst variant, its share): "
                     "t0 bfloat16 cold graph (b 90 %), t2 bfloat16 hot graph (a 20 %)."});
}

TEST(ThrottlingWarnings, StayShortForManyCells) {
  record::Report report;
  for (int i = 0; i < 100; ++i) {
    report.measurements.push_back(row(std::to_string(i), "a", 2));
  }
  const Warnings warnings = report::throttling_warnings(report);
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_NE(warnings[0].find(" 7 bfloat16 cold graph (a 20 %), and 92 more."), std::string::npos);
  EXPECT_EQ(warnings[0].find(" 8 bfloat16"), std::string::npos);
}

TEST(ThrottlingWarnings, AreNotGivenWithoutClocks) {
  record::Report report;
  report.measurements = {row("t0", "a", 5)};
  report.measurements[0].throttled_samples.reset();
  EXPECT_EQ(report::throttling_warnings(report), Warnings());
}

// Every name that the device layer gives a reason, and whether it is a reason to warn.
TEST(ThrottlingWarnings, RepeatWhatPowerHeatAndHardwareForced) {
  const std::pair<const char*, bool> reasons[] = {
      {"application clocks", false},       {"software power cap", true},
      {"hardware slowdown", true},         {"sync boost", false},
      {"software thermal slowdown", true}, {"hardware thermal slowdown", true},
      {"hardware power brake", true},      {"display clocks", false},
  };
  for (const auto& [reason, is_forced] : reasons) {
    record::Report report;
    report.state_before.throttle_reasons = {reason};
    const Warnings wanted = {std::string("The driver held the clocks down before the run: ") +
                             reason + "."};
    EXPECT_EQ(report::throttling_warnings(report), is_forced ? wanted : Warnings()) << reason;
  }
}

TEST(ThrottlingWarnings, TellBeforeFromAfter) {
  record::Report report;
  report.state_before.throttle_reasons = {"software power cap"};
  report.state_after.emplace().throttle_reasons = {"application clocks", "software power cap",
                                                   "hardware thermal slowdown"};
  EXPECT_EQ(report::throttling_warnings(report),
            Warnings{"The driver held the clocks down before the run: software power cap; after "
                     "it: software power cap, hardware thermal slowdown."});
}

TEST(SharingWarnings, AreNotGivenWhereNobodyElseIsKnown) {
  record::Report report;
  EXPECT_EQ(report::sharing_warnings(report), Warnings());
  report.state_before.other_processes = 0;
  report.state_after.emplace().other_processes = 0;
  EXPECT_EQ(report::sharing_warnings(report), Warnings());
}

TEST(SharingWarnings, TellBeforeFromAfterAndWhoKnowsTheNames) {
  record::Report report;
  report.device.id = "cuda:1";
  report.state_before.other_processes = 1;
  const auto sentence = [](const std::string& when) {
    return Warnings{"Other processes were on this GPU (" + when +
                    "): if they computed, times are too long and clocks too low; nf4bench doctor "
                    "--device cuda:1 names them; measure again without them."};
  };
  EXPECT_EQ(report::sharing_warnings(report), sentence("1 before the run"));
  report.state_after.emplace().other_processes = 2;
  EXPECT_EQ(report::sharing_warnings(report), sentence("1 before the run, 2 after it"));
  report.state_before.other_processes = 0;
  EXPECT_EQ(report::sharing_warnings(report), sentence("2 after it"));
}

}  // namespace
}  // namespace nf4bench
