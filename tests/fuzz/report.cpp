#include "report/report.hpp"

#include "compare/compare_reports.hpp"
#include "compare/gate.hpp"
#include "compare/result_text.hpp"
#include "fuzz/strict_json.hpp"
#include "fuzz/targets.hpp"

#include <string>

namespace nf4bench::fuzz {
namespace {

constexpr int kMaxDepth = 32;

void check_comparison(const Report& report) {
  const std::vector<NamedReport> side = {{.name = "fuzz.json", .report = report}};
  const ComparisonResult result = compare_reports(side, side, {});
  require(result.new_cells.empty(), "a report has no cell that itself lacks");
  require(result.count(CellVerdict::kFaster) == 0 && result.count(CellVerdict::kSlower) == 0,
          "a report is neither faster nor slower than itself");
  const GateDecision decision = decide_gate(result, Strictness::kStrict);
  require(parse_strict_json(comparison_json(result, &decision), kMaxDepth).has_value(),
          "a comparison is written as strict JSON");
  comparison_table(result, &decision, {});
  comparison_markdown(result, &decision);
}

}  // namespace

void fuzz_report(Bytes input) {
  const std::string text(text_of(input));
  Report report;
  if (!accepts([&] { report = report_from_json(text, "fuzz.json"); })) return;
  require(parse_strict_json(text, kMaxDepth).has_value(), "a report is strict JSON");
  const std::string written = to_json(report);
  require(parse_strict_json(written, kMaxDepth).has_value(), "a report is written as strict JSON");
  const Report again = report_from_json(written, "again.json");
  require(to_json(again) == written, "a report that was written is read as it was");
  to_table(report, {.width = 100, .marking = true});
  check_comparison(report);
}

}  // namespace nf4bench::fuzz
