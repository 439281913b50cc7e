#include "compare/result_text.hpp"

#include "compare/report_maker.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace nf4bench {
namespace {

using test::named_run;
using testing::HasSubstr;
using testing::Not;

// A cell of each kind but UNSURE.
compare::ComparisonResult mixed_result() {
  return compare::compare_reports(
      {named_run("base.json", 0,
                 {{"same", 30e-6}, {"slower", 30e-6}, {"faster", 30e-6}, {"gone", 30e-6}})},
      {named_run("new.json", 1, {{"same", 30e-6}, {"slower", 33e-6}, {"faster", 27e-6}})}, {});
}

std::string table_of(const compare::ComparisonResult& result, int width = 100) {
  const compare::GateDecision decision =
      compare::decide_gate(result, compare::Strictness::kLenient);
  return compare::comparison_table(result, &decision, {.width = width, .colour = false});
}

std::string markdown_of(const compare::ComparisonResult& result) {
  const compare::GateDecision decision =
      compare::decide_gate(result, compare::Strictness::kLenient);
  return text::markdown(compare::comparison_document(result, &decision));
}

std::size_t longest_line(const std::string& text) {
  std::size_t longest = 0;
  std::size_t start = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] != '\n') continue;
    longest = std::max(longest, i - start);
    start = i + 1;
  }
  return longest;
}

TEST(ComparisonTable, ShowsBothMediansTheChangeAndTheVerdict) {
  const std::string table = table_of(mixed_result());
  EXPECT_THAT(table, HasSubstr("4096x4096 block 64 nested  bf16  cold graph"));
  EXPECT_THAT(table, HasSubstr("slower   30.00 us  33.00 us  +10.0 %"));
  EXPECT_THAT(table, HasSubstr("SLOWER"));
  EXPECT_THAT(table, HasSubstr("1 MISSING, 1 SLOWER, 1 FASTER, 1 SAME"));
  EXPECT_THAT(table, HasSubstr("threshold 2.0 %, run-to-run noise 0.5 %"));
  EXPECT_THAT(table, HasSubstr("Gate: failed: 1 cell MISSING; 1 cell SLOWER"));
}

TEST(ComparisonTable, FitsNarrowTerminals) {
  const std::string table = table_of(mixed_result(), 50);
  EXPECT_LE(longest_line(table.substr(table.find("4096x4096"))), 50u);
  EXPECT_THAT(table, HasSubstr("SLOWER"));
}

TEST(ComparisonTable, NamesTheDifferenceThatStopsIt) {
  report::NamedReport fresh = named_run("new.json", 1, {{"fused", 30e-6}});
  fresh.report.device.driver = "570.86";
  const std::string table = table_of(
      compare::compare_reports({named_run("base.json", 0, {{"fused", 30e-6}})}, {fresh}, {}));
  EXPECT_THAT(table, HasSubstr("DIFFERS driver: base 580.159.04, new 570.86 (--allow driver)"));
  EXPECT_THAT(table, HasSubstr("Not comparable"));
}

TEST(ComparisonMarkdown, PutsFailuresFirstAndLeavesOutWhatIsTheSame) {
  const std::string text = markdown_of(mixed_result());
  EXPECT_TRUE(text.starts_with("### nf4bench: failed\n"));
  const std::size_t missing = text.find("| **MISSING** | gone |");
  const std::size_t slower = text.find("| **SLOWER** | slower |");
  const std::size_t faster = text.find("| FASTER | faster |");
  EXPECT_LT(missing, slower);
  EXPECT_LT(slower, faster);
  EXPECT_LT(faster, text.size());
  EXPECT_THAT(text, Not(HasSubstr("| SAME |")));
}

TEST(ComparisonMarkdown, IsShortWhenNothingChanged) {
  const std::string text =
      markdown_of(compare::compare_reports({named_run("base.json", 0, {{"fused", 30e-6}})},
                                           {named_run("new.json", 1, {{"fused", 30e-6}})}, {}));
  EXPECT_TRUE(text.starts_with("### nf4bench: passed\n\n1 SAME.\n"));
  EXPECT_THAT(text, Not(HasSubstr("| verdict |")));
}

TEST(Gate, SaysHowManyCellsItDidNotDecide) {
  report::NamedReport fresh = named_run("new.json", 1, {{"same", 30e-6}, {"odd", 30e-6}});
  fresh.report.measurements[1].load =
      record::HostLoad{.processors = 2, .others = 1.0, .disturbed = true};
  const compare::ComparisonResult result = compare::compare_reports(
      {named_run("base.json", 0, {{"same", 30e-6}, {"odd", 30e-6}})}, {fresh}, {});
  EXPECT_THAT(table_of(result), HasSubstr("Gate: passed, 1 of 2 undecided; nf4bench doctor says"));
  const std::string text = markdown_of(result);
  EXPECT_TRUE(text.starts_with("### nf4bench: passed, 1 of 2 undecided\n\n1 UNSURE, 1 SAME. "));
  EXPECT_THAT(text, HasSubstr("nf4bench doctor says"));
}

TEST(Gate, NamesTheDoctorWhereItDecidedNothing) {
  report::NamedReport fresh = named_run("new.json", 1, {{"odd", 30e-6}});
  fresh.report.measurements[0].load =
      record::HostLoad{.processors = 2, .others = 1.0, .disturbed = true};
  const std::string table = table_of(
      compare::compare_reports({named_run("base.json", 0, {{"odd", 30e-6}})}, {fresh}, {}));
  EXPECT_THAT(table,
              HasSubstr("Gate: inconclusive: no cell was decided; nf4bench doctor says what"));
}

TEST(ComparisonMarkdown, StaysShortWhateverHappens) {
  std::vector<test::Timing> before;
  std::vector<test::Timing> after;
  for (int i = 0; i < 300; ++i) {
    before.push_back({"variant" + std::to_string(i), 30e-6});
    after.push_back({"variant" + std::to_string(i), 60e-6});
  }
  const std::string text = markdown_of(compare::compare_reports(
      {named_run("base.json", 0, before)}, {named_run("new.json", 1, after)}, {}));
  EXPECT_LT(std::count(text.begin(), text.end(), '\n'), 45);
  EXPECT_THAT(text, HasSubstr("... and 275 more rows."));
}

// Names come from files: they must not end a table's cell, start HTML or mention anybody.
TEST(ComparisonMarkdown, TakesNothingInNamesForMarkup) {
  const std::string text = markdown_of(
      compare::compare_reports({named_run("base.json", 0, {{"a|b<img>\n`x`@all", 30e-6}})},
                               {named_run("new.json", 1, {{"a|b<img>\n`x`@all", 60e-6}})}, {}));
  EXPECT_THAT(text, HasSubstr("a\\|b\\<img\\>\\\\n\\`x\\`\\@all"));
}

TEST(ComparisonJson, HoldsVerdictsCountsAndTheGate) {
  const compare::ComparisonResult result = mixed_result();
  const compare::GateDecision decision =
      compare::decide_gate(result, compare::Strictness::kLenient);
  const auto json = nlohmann::json::parse(compare::comparison_json(result, &decision));
  EXPECT_EQ(json["schema"], "nf4bench.comparison");
  EXPECT_EQ(json["comparable"], true);
  EXPECT_EQ(json["counts"]["SLOWER"], 1);
  EXPECT_EQ(json["counts"]["measured"], 3);
  EXPECT_EQ(json["gate"]["passed"], false);
  EXPECT_EQ(json["gate"]["exit_code"], 1);
  const auto& cell = json["cells"][1];
  EXPECT_EQ(cell["variant"], "slower");
  EXPECT_EQ(cell["verdict"], "SLOWER");
  EXPECT_NEAR(cell["base"]["value"].get<double>(), 30e-6, 1e-12);
  EXPECT_NEAR(cell["change"]["relative"].get<double>(), 0.1, 1e-9);
  EXPECT_LT(cell["change"]["interval"][0].get<double>(), 0.1);
  EXPECT_GT(cell["change"]["interval"][1].get<double>(), 0.1);
  EXPECT_EQ(json["cells"][3]["new"], nullptr);
  EXPECT_EQ(nlohmann::json::parse(compare::comparison_json(result, nullptr))["gate"], nullptr);
}

TEST(ComparisonJson, HoldsNoNumberThatIsNotFinite) {
  const std::string text = compare::comparison_json(
      compare::compare_reports({named_run("base.json", 0, {})}, {named_run("new.json", 1, {})}, {}),
      nullptr);
  EXPECT_EQ(nlohmann::json::parse(text)["median_change"], nullptr);
}

}  // namespace
}  // namespace nf4bench
