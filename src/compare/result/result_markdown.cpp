#include "compare/result/change_text.hpp"
#include "compare/result/result_sheet.hpp"
#include "compare/result/result_text.hpp"
#include "text/layout.hpp"
#include "text/units.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace nf4bench::compare {
namespace {

// More rows than this do not help a reviewer; the count of the rest is given.
constexpr std::size_t kMostRows = 25;

std::string summary_of(const ComparisonResult& result, const GateDecision* decision) {
  std::string summary = counts_text(result);
  if (!result.new_cells.empty()) {
    summary +=
        fmt::format("; {} not in the base",
                    text::format_count(static_cast<long long>(result.new_cells.size()), "cell"));
  }
  if (decision != nullptr && !decision->reasons.empty()) {
    summary +=
        ". Gate: " + text::fitted(fmt::format("{}", fmt::join(decision->reasons, "; ")), 400);
  }
  const std::string hint = decision != nullptr ? undecided_hint(result, *decision) : "";
  if (!hint.empty()) summary += ". " + hint;
  return summary + '.';
}

}  // namespace

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

}  // namespace nf4bench::compare
