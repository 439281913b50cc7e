// An operation that nothing outside tests/operation/copy knows of, from its inputs to its exports:
// measured, verified, reported, read back, shown, exported and compared.

#include "operation/copy/copy.hpp"

#include "bench/run.hpp"
#include "bench/runner.hpp"
#include "compare/compare_reports.hpp"
#include "device/devices.hpp"
#include "exports/exported.hpp"
#include "nf4/synthetic.hpp"
#include "plan/problems.hpp"
#include "report/report.hpp"
#include "report/tables.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace nf4bench {
namespace {

using test::exported;
using testing::HasSubstr;
using testing::Not;

constexpr std::int64_t kElements = 100 * 77;

plan::TensorSource source() {
  const nf4::SyntheticSpec spec = {.name = "w", .shape = {100, 77}};
  plan::TensorSource source;
  source.name = spec.name;
  source.source = "synthetic";
  source.geometry = {.shape = spec.shape};
  source.load = [spec] { return nf4::make_synthetic(spec); };
  return source;
}

record::Report run_copy() {
  const auto device = device::open_cpu_device({.config = "", .threads = 1});
  const operation::Operation& copy = test::copy();
  const kernels::Catalog& catalog = copy.catalog(device->info().kind);
  record::RunOptions options;
  options.output_types = {nf4::OutputType::kFloat16};
  options.launches = {record::LaunchMode::kStream};
  options.baseline = catalog.default_baseline;
  options.max_time_s = 0.01;
  const auto planned = plan::plan_tensors({source()}, plan::TensorChoice::kAll);
  const auto variants = plan::select_variants(catalog.variants, {});
  plan::check_memory(copy, planned, options, {device->info(), 0});
  record::Report report = bench::start_report(*device, options);
  bench::list_operation(report, {*device, copy, planned, variants, options});
  bench::RunObserver observer{};
  observer.on_loaded = [&](const bench::LoadedTensor& loaded) {
    bench::note_loaded(report, loaded);
  };
  observer.on_measurement = [&](const record::Measurement& row) {
    report.measurements.push_back(row);
  };
  const std::atomic<bool> interrupted = false;
  bench::run_benchmark({*device, copy, planned, variants, options}, {}, observer, interrupted);
  report.complete = true;
  return report;
}

class CopyTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { report_ = run_copy(); }
  static inline record::Report report_;
};

TEST_F(CopyTest, IsTimedAndVerified) {
  ASSERT_EQ(report_.measurements.size(), 2u);
  const record::Measurement& whole = report_.measurements[0];
  EXPECT_EQ(whole.status, record::Status::kPassed) << whole.reason;
  EXPECT_EQ(whole.cell.operation, "copy");
  EXPECT_EQ(whole.bytes_written, (kElements + 1) / 2);
  EXPECT_EQ(whole.verification->compared, (kElements + 1) / 2);
  EXPECT_TRUE(whole.speedup);
}

TEST_F(CopyTest, OfTooFewBytesIsWrongInTheWordsOfTheOperation) {
  ASSERT_EQ(report_.measurements.size(), 2u);
  const record::Measurement& cut = report_.measurements[1];
  EXPECT_EQ(cut.status, record::Status::kFailed);
  EXPECT_EQ(cut.reason, "bytes differ");
  EXPECT_EQ(cut.verification->mismatches, 1);
}

TEST_F(CopyTest, IsWrittenAndReadBack) {
  const std::string json = report::to_json(report_);
  EXPECT_THAT(json, HasSubstr(R"("operation": "copy")"));
  const record::Report again = report::report_from_json(json, "copy.json");
  ASSERT_EQ(again.measurements.size(), 2u);
  EXPECT_EQ(again.measurements[0].cell, report_.measurements[0].cell);
  EXPECT_EQ(report::to_json(again), json);
}

TEST_F(CopyTest, IsShownAndExported) {
  EXPECT_THAT(report::to_table(report_, {}), HasSubstr("whole"));
  for (const std::string& text :
       {exported(exports::to_csv, report_), exported(exports::to_nvbench, report_),
        exported(exports::to_google_benchmark, report_), exported(exports::to_bencher, report_)}) {
    EXPECT_THAT(text, HasSubstr("copy"));
    EXPECT_THAT(text, Not(HasSubstr("dequantize")));
  }
  EXPECT_THAT(exported(exports::to_markdown, report_), HasSubstr("whole"));
  EXPECT_THAT(exported(exports::to_html, report_), HasSubstr("whole"));
}

TEST_F(CopyTest, IsComparedWithItselfAndNothingElse) {
  const std::vector<report::NamedReport> runs = {{"copy.json", report_}};
  const compare::ComparisonResult same = compare::compare_reports(runs, runs, {});
  EXPECT_FALSE(same.cells.empty());
  std::vector<report::NamedReport> others = runs;
  for (record::Measurement& row : others[0].report.measurements) row.cell.operation = "other";
  const compare::ComparisonResult apart = compare::compare_reports(runs, others, {});
  EXPECT_EQ(apart.new_cells.size(), 1u);
}

}  // namespace
}  // namespace nf4bench
