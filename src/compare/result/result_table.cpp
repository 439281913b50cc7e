#include "compare/result/change_text.hpp"
#include "compare/result/result_sheet.hpp"
#include "compare/result/result_text.hpp"
#include "text/units.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace nf4bench::compare {
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

void append_summary_lines(text::Page& page, const ComparisonResult& result) {
  page.blank();
  std::string summary = counts_text(result);
  if (result.median_log_change) {
    summary +=
        fmt::format("; median change {}",
                    text::format_change(shown_change(*result.median_log_change, result.metric)));
  }
  if (!result.new_cells.empty()) {
    summary +=
        fmt::format("; {} not in the base",
                    text::format_count(static_cast<long long>(result.new_cells.size()), "cell"));
  }
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

}  // namespace nf4bench::compare
