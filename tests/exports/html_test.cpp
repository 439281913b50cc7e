#include "base/sha256.hpp"
#include "exports/exported.hpp"
#include "report/sample_reports.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <regex>
#include <set>
#include <span>

namespace nf4bench {
namespace {

using test::exported;
using ::testing::HasSubstr;
using ::testing::Not;

std::set<std::string> all_matches(const std::string& text, const std::string& pattern) {
  const std::regex expression(pattern);
  std::set<std::string> found;
  for (std::sregex_iterator at(text.begin(), text.end(), expression), end; at != end; ++at) {
    found.insert((*at)[1]);
  }
  return found;
}

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
    if (m.cell.tensor == "t2") m.cell.tensor = kAttack;
    m.variant += kAttack;
    m.reason += kAttack;
    if (m.speedup) m.speedup->baseline = kAttack;
  }
  return report;
}

TEST(Html, DrawsTimeAndRoofOverTokens) {
  const std::string page = exported(exports::to_html, matmul_report());
  EXPECT_THAT(page, HasSubstr("NF4 matrix products"));
  EXPECT_THAT(page, Not(HasSubstr("bandwidth")));
  EXPECT_THAT(page, HasSubstr("14336x4096  matmul  bf16  cold graph: microseconds a call over "
                              "tokens"));
  EXPECT_THAT(page, HasSubstr("per cent of the speed that memory and arithmetic allow"));
  EXPECT_THAT(page, HasSubstr("gemv_shuffle 1, fused 8 to 64"));
  // Each timed row is a point of both figures of its geometry.
  const std::regex point("<path class=\"point ");
  EXPECT_EQ(std::distance(std::sregex_iterator(page.begin(), page.end(), point), {}), 2 * 22);
  EXPECT_THAT(exported(exports::to_html, gpu_report()), Not(HasSubstr("over tokens")));
}

void expect_good_links(const record::Report& report) {
  const std::string page = exported(exports::to_html, report);
  const std::set<std::string> ids = all_matches(page, "id=\"([^\"]*)\"");
  for (const std::string& target : all_matches(page, "href=\"#([^\"]*)\"")) {
    EXPECT_TRUE(ids.contains(target)) << target;
  }
  for (std::size_t i = 0; i < report.measurements.size(); ++i) {
    EXPECT_THAT(page, HasSubstr("href=\"#m" + std::to_string(i) + "\""));
    EXPECT_TRUE(ids.contains("m" + std::to_string(i)));
  }
}

TEST(Html, LinksOnlyToRowsAndSectionsThatAreThere) {
  expect_good_links(gpu_report());
  expect_good_links(matmul_report());
}

TEST(Html, LoadsNothing) {
  const std::string page = exported(exports::to_html, gpu_report());
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
  for (const char* word : {"http:", "https:", "//", "src=", "@import", "url("}) {
    EXPECT_THAT(page, Not(HasSubstr(word))) << word;
  }
}

TEST(Html, NeverTakesTextOfTheReportForMarkup) {
  const std::string page = exported(exports::to_html, hostile_report());
  EXPECT_THAT(page, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(page, Not(HasSubstr("onload='")));
  EXPECT_THAT(page, Not(HasSubstr("\xff")));
  EXPECT_THAT(page, Not(HasSubstr("\x01")));
  EXPECT_THAT(page, Not(HasSubstr("\u202e")));  // right-to-left override
  EXPECT_THAT(page, Not(HasSubstr("\u0085")));  // next line
  EXPECT_THAT(page, HasSubstr("&lt;script&gt;alert(1)"));
  EXPECT_EQ(all_matches(page, "<(script|title|select)>").size(), 2u);
}

std::string hash_of(const std::string& text) {
  Sha256 hash;
  hash.update(std::as_bytes(std::span(text)));
  return "'sha256-" + hash.base64() + "'";
}

TEST(Html, RunsItsOwnScriptAndStyleAloneAndKnowsThemByHash) {
  for (const record::Report& report : {gpu_report(), hostile_report()}) {
    const std::string page = exported(exports::to_html, report);
    const std::set<std::string> scripts = all_matches(page, "<script>([^<]*)</script>");
    const std::set<std::string> styles = all_matches(page, "<style>([^<]*)</style>");
    ASSERT_EQ(scripts.size(), 1u);
    ASSERT_EQ(styles.size(), 1u);
    EXPECT_THAT(page, HasSubstr("script-src " + hash_of(*scripts.begin()) + ";"));
    EXPECT_THAT(page, HasSubstr("style-src " + hash_of(*styles.begin()) + ";"));
    EXPECT_THAT(page, Not(HasSubstr("unsafe-inline")));
    EXPECT_THAT(page, Not(HasSubstr(" style=")));
  }
}

TEST(Html, ShowsLongNamesInFull) {
  record::Report report = gpu_report();
  const std::string name(120, 'n');
  for (record::Measurement& m : report.measurements) m.variant = name;
  const std::string page = exported(exports::to_html, report);
  EXPECT_THAT(page, HasSubstr(">" + name + "<"));
  EXPECT_THAT(page, Not(HasSubstr("nnn...")));
}

// From one element to the largest tensor that can be asked for.
TEST(Html, LabelsAFewSizesWhateverTheyAre) {
  for (const std::int64_t inputs : {1L, 3L, 5L, 6L, 1L << 20, 1L << 50}) {
    record::Report report = gpu_report();
    report.tensors[0].geometry.shape = {1, inputs};
    const std::string page = exported(exports::to_html, report);
    const auto start = page.find("<div class=\"chart\">");
    const auto labels = page.find("<svg class=\"axis\">", start);
    const std::string axis = page.substr(labels, page.find("</svg>", labels) - labels);
    const auto count = all_matches(axis, "x=\"([^\"]*)\"").size();
    EXPECT_GE(count, 1u) << inputs;
    EXPECT_LE(count, 4u) << inputs;
  }
}

TEST(Html, ShowsWhyARowHasNoTime) {
  const record::Report report = gpu_report();
  const std::string page = exported(exports::to_html, report);
  for (const record::Measurement& m : report.measurements) {
    if (m.status == record::Status::kFailed) {
      EXPECT_THAT(page, HasSubstr(m.reason));
    }
  }
}

TEST(Html, IsAPageEvenWhenNothingWasMeasured) {
  const record::Report nothing;
  const std::string page = exported(exports::to_html, nothing);
  EXPECT_THAT(page, HasSubstr("</html>"));
  EXPECT_THAT(page, HasSubstr("Incomplete"));
  EXPECT_THAT(page, Not(HasSubstr("nan")));
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
