#include "exports/exported.hpp"
#include "report/sample_reports.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <regex>

namespace nf4bench {
namespace {

using test::exported;
using ::testing::HasSubstr;
using ::testing::Not;

// What a hostile report would like to become markup.
constexpr char kAttack[] =
    "</title></select><script>alert(1)</script>\"' onload='x\x01\xff&amp;\u202egnp\u0085";

record::Report hostile_report() {
  record::Report report = gpu_report();
  for (std::string* text :
       {&report.device.name, &report.device.id, &report.device.driver, &report.device.uuid,
        &report.host.name, &report.host.os, &report.host.kernel, &report.host.cpu,
        &report.tool.version, &report.tool.git_commit, &report.tool.compiler, &report.started_at,
        &report.finished_at, &report.settings.baseline}) {
    *text = kAttack;
  }
  report.command = {kAttack};
  report.warnings = {kAttack};
  report.state_after->throttle_reasons = {kAttack};
  for (record::ReportTensor& tensor : report.tensors) tensor.name = kAttack;
  for (record::Measurement& m : report.measurements) {
    if (m.cell.tensor == "t1") m.cell.tensor = kAttack;
    m.variant += kAttack;
    m.reason += kAttack;
    if (m.speedup) m.speedup->baseline = kAttack;
  }
  return report;
}

TEST(Html, NeverTakesTextOfTheReportForMarkup) {
  const std::string page = exported(exports::to_html, hostile_report());
  EXPECT_THAT(page, HasSubstr("\\u003cscript>alert(1)"));
  EXPECT_THAT(page, HasSubstr("&lt;script&gt;alert(1)"));
  for (const char* text :
       {"<script>alert", "<title></title>", "\xff", "\x01", "\u202e", "\u0085"}) {
    EXPECT_THAT(page, Not(HasSubstr(text))) << text;
  }
  const std::regex script("</?script|</?noscript");
  EXPECT_EQ(std::distance(std::sregex_iterator(page.begin(), page.end(), script), {}), 6);
}

record::Report with_samples(std::size_t count) {
  record::Report report = gpu_report();
  for (record::Measurement& m : report.measurements) m.samples_s.clear();
  report.measurements[0].samples_s.assign(count, 0.25);
  return report;
}

TEST(Html, LeavesOutMoreThanFiftyThousandSamples) {
  EXPECT_THAT(exported(exports::to_html, with_samples(50'000)), HasSubstr("[0.25, 0.25, "));
  const std::string page = exported(exports::to_html, with_samples(50'001));
  EXPECT_THAT(page, Not(HasSubstr("[0.25")));
  EXPECT_THAT(page, HasSubstr("\"count\": 50001"));
}

TEST(Html, IsAPageEvenWhenNothingWasMeasured) {
  const std::string page = exported(exports::to_html, record::Report());
  EXPECT_THAT(page, HasSubstr("</html>"));
  EXPECT_THAT(page, HasSubstr("(incomplete)"));
}

TEST(Export, NeverWritesANumberThatIsNone) {
  record::Report report = gpu_report();
  const double infinity = std::numeric_limits<double>::infinity();
  for (record::Measurement& m : report.measurements) {
    if (m.time_s) m.time_s->mean = std::nan("");
    m.bytes_per_s = infinity;
    m.samples_s.assign(m.samples_s.size(), infinity);
    if (m.speedup) m.speedup->ci95 = statistics::Interval{-infinity, std::nan("")};
  }
  const std::regex number_that_is_none("[^a-z](nan|-?inf(inity)?)[^a-z]", std::regex::icase);
  for (const std::string& text :
       {exported(exports::to_csv, report), exported(exports::to_google_benchmark, report),
        exported(exports::to_nvbench, report), exported(exports::to_bencher, report),
        exported(exports::to_github_action, report, exports::ActionMetric::kBandwidth)}) {
    EXPECT_FALSE(std::regex_search(text, number_that_is_none));
  }
}

TEST(Markdown, KeepsTextOfTheReportInItsCell) {
  record::Report report = gpu_report();
  report.measurements[0].variant = "a|b<img>\n# c";
  const std::string text = exported(exports::to_markdown, report);
  EXPECT_THAT(text, HasSubstr("a\\|b\\<img\\>"));
  EXPECT_THAT(text, Not(HasSubstr("\n# c")));
}

}  // namespace
}  // namespace nf4bench
