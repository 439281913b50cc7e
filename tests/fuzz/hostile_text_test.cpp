// A report may be hostile, and a terminal obeys control characters. So none of a report's may reach
// a table or a page, nor may a character that turns the order of the text around.

#include "base/error.hpp"
#include "base/text.hpp"
#include "compare/compare_reports.hpp"
#include "compare/gate.hpp"
#include "compare/result_text.hpp"
#include "io/raw_files.hpp"
#include "report/report.hpp"
#include "report/tables.hpp"
#include "source_dir.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <string>

namespace nf4bench {
namespace {

using Json = nlohmann::ordered_json;

const std::string kHostile = "a\x1b[2J\n\x7f\xc2\x9b\xe2\x80\xae";

std::vector<Json::json_pointer> texts_of(const Json& json) {
  std::vector<Json::json_pointer> pointers;
  const auto flat = json.flatten();
  for (const auto& [pointer, value] : flat.items()) {
    if (value.is_string() || value.is_null()) pointers.emplace_back(pointer);
  }
  return pointers;
}

std::string shown(const report::NamedReport& base, const report::NamedReport& fresh) {
  const compare::ComparisonResult result = compare::compare_reports({base}, {fresh}, {});
  const compare::GateDecision decision = compare::decide_gate(result, compare::Strictness::kStrict);
  return compare::comparison_table(result, &decision, {}) +
         text::markdown(compare::comparison_document(result, &decision));
}

// Counts what a terminal would act on in `text`, apart from the ends of lines.
std::size_t disturbing_characters(std::string_view text) {
  std::size_t count = text.find(kHostile.substr(0, 2)) == std::string::npos ? 0 : 1;
  while (!text.empty()) {
    const Utf8Front front = utf8_front(text);
    if (disturbs_terminal(front.code_point) && text[0] != '\n') ++count;
    text.remove_prefix(front.length);
  }
  return count;
}

class HostileText : public ::testing::TestWithParam<std::string> {};

TEST_P(HostileText, IsShownEscapedWhereverItStands) {
  const std::filesystem::path path =
      std::filesystem::path(NF4BENCH_SOURCE_DIR) / "tests/fuzz/corpus/report" / GetParam();
  const Json whole = Json::parse(testing::read_raw(path));
  const report::NamedReport clean = {
      .name = "clean.json", .report = report::report_from_json(whole.dump(), "clean.json")};
  int accepted = 0;
  for (const Json::json_pointer& pointer : texts_of(whole)) {
    Json json = whole;
    json[pointer] = kHostile;
    report::NamedReport hostile = {.name = kHostile, .report = {}};
    try {
      hostile.report = report::report_from_json(json.dump(), "hostile.json");
    } catch (const Error&) {
      continue;
    }
    ++accepted;
    const std::string text = report::to_table(hostile.report, {.width = 100}) +
                             shown(clean, hostile) + shown(hostile, clean) +
                             shown(hostile, hostile);
    EXPECT_EQ(disturbing_characters(text), 0u) << pointer;
  }
  EXPECT_GT(accepted, 20);
}

INSTANTIATE_TEST_SUITE_P(Reports, HostileText, ::testing::Values("cpu", "gpu"),
                         [](const auto& each) { return each.param; });

}  // namespace
}  // namespace nf4bench
