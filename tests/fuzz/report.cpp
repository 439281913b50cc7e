#include "report/report.hpp"

#include "compare/compare_reports.hpp"
#include "compare/gate.hpp"
#include "compare/result_text.hpp"
#include "exports/export.hpp"
#include "fuzz/strict_json.hpp"
#include "fuzz/targets.hpp"
#include "report/tables.hpp"

#include <string>
#include <string_view>
#include <utility>

namespace nf4bench::fuzz {
namespace {

constexpr int kMaxDepth = 32;

using Side = std::vector<report::NamedReport>;

// All forms of a comparison must be safe to print, and the JSON must be strict.
compare::ComparisonResult compared(const Side& base, const Side& fresh,
                                   const compare::CompareOptions& options) {
  compare::ComparisonResult result = compare::compare_reports(base, fresh, options);
  const compare::GateDecision decision = compare::decide_gate(result, compare::Strictness::kStrict);
  require(parse_strict_json(compare::comparison_json(result, &decision), kMaxDepth).has_value(),
          "a comparison is written as strict JSON");
  require_printable_lines(compare::comparison_table(result, &decision, {}));
  require_printable_lines(text::markdown(compare::comparison_document(result, &decision)));
  return result;
}

// The report of a machine on which everything takes 1.5 times as long.
record::Report slower(record::Report report) {
  constexpr double kFactor = 1.5;
  for (record::Measurement& measurement : report.measurements) {
    for (double& sample : measurement.samples_s) sample *= kFactor;
    if (!measurement.time_s) continue;
    for (double* value :
         {&measurement.time_s->median, &measurement.time_s->mean, &measurement.time_s->min,
          &measurement.time_s->p05, &measurement.time_s->p95, &measurement.time_s->mad}) {
      *value *= kFactor;
    }
    if (auto& ci95 = measurement.time_s->ci95) ci95 = {ci95->low * kFactor, ci95->high * kFactor};
  }
  return report;
}

// The JSON must be strict, and all forms safe to print, but for the line ends of CSV.
void check_exports(const record::Report& report) {
  std::string text;
  const auto sink = [&](std::string_view piece) { text += piece; };
  const auto taken = [&] { return std::exchange(text, std::string()); };
  exports::to_csv(report, sink);
  std::string csv = taken();
  std::erase(csv, '\r');
  require_printable_lines(csv);
  exports::to_markdown(report, sink);
  require_printable_lines(taken());
  exports::to_html(report, sink);
  require_printable_lines(taken());
  exports::to_google_benchmark(report, sink);
  require(parse_strict_json(text, kMaxDepth).has_value(), "Google Benchmark's JSON is strict");
  require_printable_lines(taken());
  exports::to_nvbench(report, sink);
  require(parse_strict_json(text, kMaxDepth).has_value(), "nvbench's JSON is strict");
  require_printable_lines(taken());
  exports::to_bencher(report, sink);
  exports::to_github_action(report, exports::ActionMetric::kTime, sink);
  require_printable_lines(taken());
  exports::to_reframe(report, exports::ActionMetric::kSpeedup, sink);
  require_printable_lines(taken());
}

void check_comparisons(const record::Report& report) {
  const report::NamedReport once = {.name = "fuzz\x1b.json", .report = report};
  const report::NamedReport later = {.name = "slower.json", .report = slower(report)};
  const compare::ComparisonResult same = compared({once}, {once}, {});
  require(same.new_cells.empty(), "a report has no cell that itself lacks");
  require(same.count(compare::CellVerdict::kFaster) == 0 &&
              same.count(compare::CellVerdict::kSlower) == 0,
          "a report is neither faster nor slower than itself");
  const compare::ComparisonResult change = compared({once}, {later}, {.threshold = 0.05});
  require(change.count(compare::CellVerdict::kFaster) == 0, "what takes longer is not faster");
  compared({once, later}, {later, once}, {.metric = compare::Metric::kSpeedup});
}

}  // namespace

void fuzz_report(Bytes input) {
  const std::string text(text_of(input));
  record::Report report;
  if (!accepts([&] { report = report::report_from_json(text, "fuzz.json"); })) return;
  require(parse_strict_json(text, kMaxDepth).has_value(), "a report is strict JSON");
  const std::string written = report::to_json(report);
  require(parse_strict_json(written, kMaxDepth).has_value(), "a report is written as strict JSON");
  const record::Report again = report::report_from_json(written, "again.json");
  require(report::to_json(again) == written, "a report that was written is read as it was");
  require_printable_lines(written);
  require_printable_lines(report::to_table(report, {.width = 100}));
  check_exports(report);
  check_comparisons(report);
}

}  // namespace nf4bench::fuzz
