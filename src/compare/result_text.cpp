#include "compare/result_text.hpp"

#include "base/text.hpp"
#include "text/layout.hpp"
#include "text/printers.hpp"
#include "text/units.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

namespace nf4bench::compare {
namespace {

// "passed", "passed, 5 of 6 undecided", "inconclusive" or "failed"
std::string outcome_text(const ComparisonResult& result, const GateDecision& decision) {
  if (decision.code == ExitCode::kInconclusive) return "inconclusive";
  if (decision.code != ExitCode::kOk) return "failed";
  const std::int64_t undecided = result.count(CellVerdict::kUnsure);
  if (undecided == 0) return "passed";
  return fmt::format("passed, {} of {} undecided", undecided, result.cells.size());
}

// What to do about undecided cells of a gate that did not fail; empty when there is none.
std::string undecided_hint(const ComparisonResult& result, const GateDecision& decision) {
  if (decision.code == ExitCode::kGateFailed || result.count(CellVerdict::kUnsure) == 0) return "";
  return "nf4bench doctor says what keeps this machine from deciding";
}

// "base.json" or "3 runs", with when and at which commit.
std::string side_text(const std::vector<ReportLabel>& side) {
  const ReportLabel& last = side.back();
  std::string text = escaped(last.name);
  if (side.size() > 1) text += fmt::format(" and {} more", side.size() - 1);
  if (!last.started_at.empty()) text += ", " + escaped(last.started_at);
  if (!last.git_commit.empty()) text += ", " + escaped(last.git_commit.substr(0, 12));
  return text;
}

}  // namespace

double shown_change(double log_ratio, Metric metric) {
  return std::expm1(is_cost(metric) ? log_ratio : -log_ratio);
}

text::Unit unit_of(Metric metric) {
  return metric == Metric::kTime      ? text::Unit::kSeconds
         : metric == Metric::kSpeedup ? text::Unit::kRatio
         : metric == Metric::kEnergy  ? text::Unit::kJoules
                                      : text::Unit::kFraction;
}

std::string counts_text(const ComparisonResult& result) {
  std::vector<std::string> counts;
  for (const CellVerdict verdict : kWords<CellVerdict>) {
    const std::int64_t count = result.count(verdict);
    if (count > 0) counts.push_back(fmt::format("{} {}", count, to_string(verdict)));
  }
  return counts.empty() ? "no cell compared" : fmt::format("{}", fmt::join(counts, ", "));
}

std::string rule_text(const ComparisonResult& result) {
  return fmt::format("{}, threshold {} %, run-to-run noise {} % ({})", to_string(result.metric),
                     text::format_percent(result.threshold),
                     text::format_percent(result.noise.relative), result.noise.origin);
}

namespace {

void append_head(text::Page& page, const ComparisonResult& result) {
  page.line("Comparison of " + rule_text(result), text::Tone::kHeading);
  page.paragraph("base  " + side_text(result.base), 6);
  page.paragraph("new   " + side_text(result.fresh), 6);
  page.paragraph("on    " + text::fitted(result.device, 60), 6);
  for (const Difference& difference : result.differences) {
    const bool stops = difference.matters && !difference.allowed;
    page.paragraph(fmt::format("{} {}{}", stops ? "DIFFERS" : "differs",
                               text::fitted(difference_text(difference), 160),
                               stops ? fmt::format(" (--allow {})", difference.name) : ""),
                   6, stops ? text::Tone::kBad : text::Tone::kFaint);
  }
  for (const std::string& fault : result.faults)
    page.paragraph("fault: " + fault, 6, text::Tone::kBad);
}

// "; 2 cells not in the base"
std::string news_text(const ComparisonResult& result) {
  if (result.new_cells.empty()) return "";
  return fmt::format("; {} not in the base",
                     text::format_count(std::ssize(result.new_cells), "cell"));
}

void append_summary_lines(text::Page& page, const ComparisonResult& result) {
  page.blank();
  std::string summary = counts_text(result);
  if (result.median_log_change) {
    summary +=
        fmt::format("; median change {}",
                    text::format_change(shown_change(*result.median_log_change, result.metric)));
  }
  summary += news_text(result);
  page.paragraph(summary, 0, text::Tone::kHeading);
}

void append_gate(text::Page& page, const ComparisonResult& result, const GateDecision& decision) {
  const std::string hint = undecided_hint(result, decision);
  std::string text = "Gate: " + outcome_text(result, decision);
  if (!decision.reasons.empty()) text += fmt::format(": {}", fmt::join(decision.reasons, "; "));
  if (!hint.empty()) text += "; " + hint;
  page.paragraph(text, 6,
                 !hint.empty()                    ? text::Tone::kDoubt
                 : decision.code == ExitCode::kOk ? text::Tone::kGood
                                                  : text::Tone::kBad);
}

// More rows than this do not help a reviewer; the count of the rest is given.
constexpr std::size_t kMostRows = 25;

std::string summary_of(const ComparisonResult& result, const GateDecision* decision) {
  std::string summary = counts_text(result) + news_text(result);
  if (decision != nullptr && !decision->reasons.empty()) {
    summary +=
        ". Gate: " + text::fitted(fmt::format("{}", fmt::join(decision->reasons, "; ")), 400);
  }
  const std::string hint = decision != nullptr ? undecided_hint(result, *decision) : "";
  if (!hint.empty()) summary += ". " + hint;
  return summary + '.';
}

json::JsonText label_json(const ReportLabel& label) {
  return json::json_object({{"name", label.name},
                            {"started_at", json::json_string_or_null(label.started_at)},
                            {"git_commit", json::json_string_or_null(label.git_commit)}});
}

json::JsonText difference_json(const Difference& difference) {
  return json::json_object({{"name", difference.name},
                            {"base", difference.base},
                            {"new", difference.fresh},
                            {"matters", difference.matters},
                            {"allowed", difference.allowed}});
}

json::JsonText counts_json(const ComparisonResult& result) {
  std::vector<json::JsonMember> members;
  members.reserve(kWords<CellVerdict>.size() + 1);
  for (const CellVerdict verdict : kWords<CellVerdict>) {
    members.push_back({to_string(verdict), result.count(verdict)});
  }
  members.push_back({"measured", result.measured()});
  return json::json_object(members);
}

}  // namespace

std::string comparison_table(const ComparisonResult& result, const GateDecision* decision,
                             const text::Style& style) {
  text::Page page(style);
  append_head(page, result);
  if (result.is_comparable) {
    page.table(cells_sheet(result));
    append_summary_lines(page, result);
  } else {
    page.line("Not comparable.", text::Tone::kBad);
  }
  if (decision != nullptr) append_gate(page, result, *decision);
  return page.take();
}

text::Document comparison_document(const ComparisonResult& result, const GateDecision* decision) {
  text::Document document;
  document.title("nf4bench: " + (!result.is_comparable ? "not comparable"
                                 : decision == nullptr ? "compared"
                                                       : outcome_text(result, *decision)));
  document.paragraph(summary_of(result, decision));
  document.table(news_sheet(result, kMostRows));
  const std::size_t news =
      result.cells.size() - static_cast<std::size_t>(result.count(CellVerdict::kSame));
  if (news > kMostRows) document.paragraph(fmt::format("... and {} more rows.", news - kMostRows));
  for (const std::string& fault : result.faults) {
    document.item("Fault", text::fitted(fault, 200), text::Tone::kBad);
  }
  for (const Difference& difference : result.differences) {
    const bool stops = difference.matters && !difference.allowed;
    document.item(stops ? "Not comparable" : "Differs",
                  text::fitted(difference_text(difference), 200),
                  stops ? text::Tone::kBad : text::Tone::kPlain);
  }
  document.small(fmt::format("{} | {} | base {} | new {}", text::fitted(result.device, 80),
                             text::fitted(rule_text(result), 200),
                             text::fitted(side_text(result.base), 200),
                             text::fitted(side_text(result.fresh), 200)));
  return document;
}

std::string comparison_json(const ComparisonResult& result, const GateDecision* decision) {
  const json::JsonText noise =
      json::json_object({{"relative", result.noise.relative}, {"origin", result.noise.origin}});
  const json::JsonText shift =
      result.median_log_change
          ? json::json_number(shown_change(*result.median_log_change, result.metric))
          : json::json_null();
  return json::json_object(
             {{"schema", kComparisonSchema},
              {"schema_version", kComparisonSchemaVersion},
              {"metric", to_string(result.metric)},
              {"threshold", result.threshold},
              {"run_noise", noise},
              {"confidence", 1.0 - kFamilyError},
              {"device", result.device},
              {"base", json::json_array_of(result.base, label_json)},
              {"new", json::json_array_of(result.fresh, label_json)},
              {"comparable", result.is_comparable},
              {"differences", json::json_array_of(result.differences, difference_json)},
              {"faults", result.faults},
              {"counts", counts_json(result)},
              {"median_change", shift},
              {"gate", gate_json(decision)},
              {"cells", text::json_rows(cells_sheet(result))},
              {"new_cells", text::json_rows(text::sheet_of(key_columns(), result.new_cells))}})
             .text +
         "\n";
}

}  // namespace nf4bench::compare
