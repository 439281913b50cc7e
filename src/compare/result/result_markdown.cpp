#include "compare/result/change_text.hpp"
#include "compare/result/result_text.hpp"
#include "report/table/parts.hpp"
#include "text/printers.hpp"
#include "text/units.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>

namespace nf4bench::compare {
namespace {

// More rows than this do not help a reviewer; the count of the rest is given.
constexpr std::size_t kMostRows = 25;
constexpr int kLongestReason = 120;

std::string plain(const std::string& text, int max_chars = 80) {
  return text::in_markdown(text, max_chars);
}

std::string headline(const ComparisonResult& result, const GateDecision* decision) {
  std::string outcome = "compared";
  if (!result.is_comparable) {
    outcome = "not comparable";
  } else if (decision != nullptr) {
    outcome = outcome_text(result, *decision);
  }
  return fmt::format("### nf4bench: {}\n\n", outcome);
}

// Cells that are not SAME, in the order of their verdicts, and how many they are.
std::vector<const ComparedCell*> news_of(const ComparisonResult& result) {
  std::vector<const ComparedCell*> news;
  for (const ComparedCell& cell : result.cells) {
    if (cell.ruling.verdict != CellVerdict::kSame) news.push_back(&cell);
  }
  std::stable_sort(news.begin(), news.end(), [](const ComparedCell* a, const ComparedCell* b) {
    return a->ruling.verdict < b->ruling.verdict;
  });
  return news;
}

std::string side_cell(const std::optional<SideValue>& side, Metric metric) {
  return side ? value_format(metric, {side->value}).text(side->value) : "";
}

std::string row_of(const ComparedCell& cell, Metric metric) {
  std::string change;
  if (cell.change) {
    const ShownChange shown = shown_change(*cell.change, metric);
    change =
        fmt::format("{} {}", percent_text(shown.change), percent_interval_text(shown.interval));
  }
  const bool is_bad = cell.ruling.verdict < CellVerdict::kUnsure;
  const std::string mark = is_bad ? "**" : "";
  return fmt::format(
      "| {}{}{} | {} | {} | {} | {} | {} | {} |\n", mark, to_string(cell.ruling.verdict), mark,
      plain(cell.key.variant), plain(block_text(cell.key)), side_cell(cell.base, metric),
      side_cell(cell.fresh, metric), change, plain(cell.ruling.reason, kLongestReason));
}

std::string table_of(const std::vector<const ComparedCell*>& news, Metric metric) {
  if (news.empty()) return "";
  std::string text =
      "| verdict | variant | cell | base | new | change | why |\n"
      "| --- | --- | --- | ---: | ---: | ---: | --- |\n";
  const std::size_t shown = std::min(news.size(), kMostRows);
  for (std::size_t i = 0; i < shown; ++i) text += row_of(*news[i], metric);
  text += '\n';
  if (shown < news.size()) text += fmt::format("... and {} more rows.\n\n", news.size() - shown);
  return text;
}

std::string notes_of(const ComparisonResult& result) {
  std::string text;
  for (const std::string& fault : result.faults) {
    text += fmt::format("- **Fault:** {}\n", plain(fault, 200));
  }
  for (const Difference& difference : result.differences) {
    const bool stops = difference.matters && !difference.allowed;
    text += fmt::format("- {}{}\n", stops ? "**Not comparable:** " : "Differs: ",
                        plain(difference_text(difference), 200));
  }
  if (!text.empty()) text += '\n';
  return text;
}

}  // namespace

std::string comparison_markdown(const ComparisonResult& result, const GateDecision* decision) {
  std::string text = headline(result, decision);
  std::string summary = counts_text(result);
  if (!result.new_cells.empty()) {
    summary +=
        fmt::format("; {} not in the base",
                    text::format_count(static_cast<long long>(result.new_cells.size()), "cell"));
  }
  if (decision != nullptr && !decision->reasons.empty()) {
    summary += fmt::format(". Gate: {}",
                           plain(fmt::format("{}", fmt::join(decision->reasons, "; ")), 400));
  }
  const std::string hint = decision != nullptr ? undecided_hint(result, *decision) : "";
  if (!hint.empty()) summary += ". " + hint;
  text += summary + ".\n\n";
  text += table_of(news_of(result), result.metric);
  text += notes_of(result);
  text += fmt::format("<sub>{} | {} | base {} | new {}</sub>\n", plain(result.device),
                      plain(rule_text(result), 200), plain(side_text(result.base), 200),
                      plain(side_text(result.fresh), 200));
  return text;
}

}  // namespace nf4bench::compare
