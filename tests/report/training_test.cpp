#include "report/report.hpp"
#include "report/tables.hpp"
#include "statistics/statistics.hpp"
#include "text/printers.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace nf4bench {
namespace {

struct Timed {
  std::string operation;
  std::string variant;
  double seconds = 0.0;
  bool reference_line = false;
  std::int64_t tokens = 1024;
};

record::Report report_of(const std::vector<Timed>& all) {
  record::Report report;
  report.complete = true;
  report.settings.baseline = "chain";
  report.tensors.resize(2);
  for (int i = 0; i < 2; ++i) {
    record::ReportTensor& tensor = report.tensors[static_cast<std::size_t>(i)];
    tensor.id = "t" + std::to_string(i);
    tensor.geometry.shape = {256, 256};
    tensor.multiplicity = 1 + i;
    for (const Timed& each : all) {
      record::Measurement m;
      m.cell.operation = each.operation;
      m.cell.tensor = tensor.id;
      m.cell.tokens = each.tokens;
      m.variant = each.variant;
      m.reference_line = each.reference_line;
      m.status = record::Status::kPassed;
      m.samples_s.assign(20, each.seconds);
      m.time_s = statistics::summarize(m.samples_s);
      report.measurements.push_back(m);
    }
  }
  return report;
}

text::Sheet sheet_of(const std::vector<Timed>& all) {
  const record::Report report = report_of(all);
  return report::training_sheet(report, report::summarize_variants(report));
}

// The rows of the sheet, as Markdown has them.
std::string rows_of(const std::vector<Timed>& all) {
  return text::markdown(sheet_of(all));
}

// Three tensors: forward 3 ms, again 3 ms, back 6 ms.
TEST(TrainingStep, MultipliesTwiceForwardAndOnceBack) {
  const std::string rows = rows_of({{"matmul", "chain", 1e-3}, {"backward", "chain", 2e-3}});
  EXPECT_NE(rows.find("| 1024 | chain | 3.000 ms | 6.000 ms | 12.000 ms |"), std::string::npos)
      << rows;
}

TEST(TrainingStep, NamesTheFastestOfEachWhereTheyDiffer) {
  const std::string rows = rows_of({{"matmul", "chain", 1e-3},
                                    {"matmul", "fused", 0.25e-3},
                                    {"matmul", "resident", 0.1e-3, true},
                                    {"backward", "chain", 2e-3},
                                    {"backward", "decode", 1e-3}});
  EXPECT_NE(rows.find("fused + decode"), std::string::npos) << rows;
  EXPECT_NE(rows.find("2.667x"), std::string::npos) << rows;  // 12 ms over 1.5 + 3
  EXPECT_EQ(rows.find("resident"), std::string::npos) << rows;
}

TEST(TrainingStep, IsNotMadeOfHalves) {
  EXPECT_TRUE(sheet_of({{"matmul", "chain", 1e-3}}).sections.empty());
  const std::vector<Timed> other = {{"matmul", "chain", 1e-3},
                                    {"backward", "chain", 2e-3, false, 64}};
  EXPECT_TRUE(sheet_of(other).sections.empty());
}

// The rows of results, as Markdown has them.
std::string results_of(const std::vector<Timed>& all) {
  return text::markdown(report::result_sheets(report_of(all)).front());
}

TEST(TrainingStep, SaysInAGradientsRowWhatIsDecoding) {
  const std::string rows = results_of({{"backward", "chain", 2e-3},
                                       {"backward", "decode", 1.25e-3},
                                       {"backward", "fused", 0.9e-3},
                                       {"backward", "resident", 1e-3, true}});
  EXPECT_NE(rows.find("| % decoding |"), std::string::npos) << rows;
  EXPECT_NE(rows.find("| 50.0 |", rows.find("| chain |")), std::string::npos) << rows;
  EXPECT_NE(rows.find("| 20.0 |", rows.find("| decode |")), std::string::npos) << rows;
  const std::string fused = rows.substr(rows.find("| fused |"));
  EXPECT_EQ(fused.substr(0, fused.find('\n')).find(".0 |"), std::string::npos) << rows;
  for (const std::vector<Timed>& without : std::vector<std::vector<Timed>>{
           {{"backward", "chain", 2e-3}},
           {{"matmul", "chain", 2e-3}, {"matmul", "resident", 1e-3, true}}}) {
    EXPECT_EQ(results_of(without).find("% decoding"), std::string::npos);
  }
}

}  // namespace
}  // namespace nf4bench
