#include "report/ranking.hpp"
#include "report/report.hpp"
#include "report/sample_reports.hpp"
#include "report/tables.hpp"
#include "statistics/statistics.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace nf4bench {
namespace {

// Adds `variant` at `tokens`, of which a call takes `seconds`.
void add(record::Report& report, const std::string& variant, std::int64_t tokens, double seconds) {
  record::Measurement m;
  m.cell.operation = "matmul";
  m.cell.tensor = "t0";
  m.cell.tokens = tokens;
  m.variant = variant;
  m.status = record::Status::kPassed;
  m.samples_s.assign(20, seconds);
  m.time_s = statistics::summarize(m.samples_s);
  report.measurements.push_back(m);
}

// One variant costs by tokens and the other does not: they meet at 30.5 tokens.
void add_both(record::Report& report, std::int64_t tokens) {
  add(report, "steep", tokens, 1e-6 * static_cast<double>(tokens));
  add(report, "flat", tokens, 30.5e-6);
}

std::string text_of(const record::Report& report) {
  const std::vector<report::Crossover> found = report::find_crossovers(report);
  return found.size() == 1 ? report::stretches_text(found.front()) : "not one";
}

TEST(Crossover, SaysUpToHowManyTokensAVariantIsTheFastest) {
  record::Report report;
  for (const std::int64_t tokens : {64, 1, 8, 30}) add_both(report, tokens);
  EXPECT_EQ(text_of(report), "steep 1 to 30, flat 64");
}

TEST(Crossover, IsFoundByBisection) {
  record::Report report;
  for (const std::int64_t tokens : {1, 64}) add_both(report, tokens);
  int probes = 0;
  for (auto more = report::crossover_probes(report); !more.empty() && probes < 100;
       more = report::crossover_probes(report)) {
    ASSERT_EQ(more.size(), 1u);
    EXPECT_EQ(more.front().tensor, "t0");
    add_both(report, more.front().tokens);
    ++probes;
  }
  EXPECT_EQ(text_of(report), "steep 1 to 30, flat 31 to 64");
  EXPECT_EQ(probes, 6);
}

TEST(Crossover, IsNotLookedForWhereNobodyCanSayWhoIsTheFastest) {
  record::Report report;
  for (const std::int64_t tokens : {1, 64}) add_both(report, tokens);
  for (record::Measurement& m : report.measurements) {
    if (m.cell.tokens == 64) m.load = record::HostLoad{.disturbed = true};
  }
  EXPECT_EQ(text_of(report), "steep 1, undecided 64");
  EXPECT_TRUE(report::crossover_probes(report).empty());
}

TEST(Crossover, IsThereOnlyWithSeveralNumbersOfTokens) {
  record::Report report;
  add_both(report, 8);
  EXPECT_TRUE(report::find_crossovers(report).empty());
  EXPECT_TRUE(report::find_crossovers(gpu_report()).empty());
}

// A probe of one tensor says nothing of the model.
TEST(Crossover, ProbesOfSomeTensorsHaveNoTimeOfTheModel) {
  record::Report report = matmul_report();
  report.tensors.push_back(report.tensors.front());
  report.tensors.back().id = "t1";
  const std::vector<record::Measurement> rows = report.measurements;
  for (const record::Measurement& row : rows) {
    report.measurements.push_back(row);
    report.measurements.back().cell.tensor = "t1";
  }
  const std::vector<report::Crossover> found = report::find_crossovers(report);
  ASSERT_EQ(found.size(), 2u);  // one for each tensor
  EXPECT_EQ(report::stretches_text(found.back()), "gemv_shuffle 1, fused 8 to 64");

  report.measurements.push_back(rows.front());
  report.measurements.back().cell.tokens = 4;
  for (const record::VariantSummary& summary : report::summarize_variants(report)) {
    const bool is_whole = summary.cell.tokens != 4 && summary.cells > 0;
    EXPECT_EQ(summary.model_time_s.has_value(), is_whole) << summary.cell.tokens;
  }
  const std::string table = report::to_table(report, {.width = 100});
  EXPECT_EQ(table.find("=      4  chain_cublas", table.find("A step of the model")),
            std::string::npos);
}

}  // namespace
}  // namespace nf4bench
