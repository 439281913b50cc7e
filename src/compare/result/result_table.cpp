#include "base/text.hpp"
#include "compare/result/change_text.hpp"
#include "compare/result/result_text.hpp"
#include "report/table/parts.hpp"
#include "text/units.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstddef>
#include <span>

namespace nf4bench::compare {
namespace {

constexpr std::size_t kLongestReason = 400;

text::Tone tone_of(CellVerdict verdict) {
  switch (verdict) {
    case CellVerdict::kInvalid:
    case CellVerdict::kMissing:
    case CellVerdict::kSlower:
      return text::Tone::kBad;
    case CellVerdict::kUnsure:
      return text::Tone::kDoubt;
    case CellVerdict::kFaster:
      return text::Tone::kGood;
    case CellVerdict::kSame:
      return text::Tone::kPlain;
  }
  return text::Tone::kPlain;
}

// Narrow terminals lose the runs first, then the interval, then the old value.
std::vector<text::GridColumn> columns() {
  return {{"variant", text::Align::kLeft},
          {"base", text::Align::kRight, 1},
          {"new"},
          {"change"},
          {"99 % interval", text::Align::kLeft, 2},
          {"runs", text::Align::kRight, 3},
          {"verdict", text::Align::kLeft}};
}

std::string runs_text(const ComparedCell& cell) {
  return fmt::format("{}:{}", cell.base ? cell.base->runs : 0, cell.fresh ? cell.fresh->runs : 0);
}

text::GridRow row_of(const ComparedCell& cell, const ValueFormat& format) {
  text::GridRow row;
  row.tone = tone_of(cell.ruling.verdict);
  row.cells = {report::shown_variant(cell.key.variant),
               cell.base ? format.text(cell.base->value) : "",
               cell.fresh ? format.text(cell.fresh->value) : "",
               "",
               "",
               runs_text(cell),
               to_string(cell.ruling.verdict)};
  if (cell.change) {
    const ShownChange shown = shown_change(*cell.change, format.metric);
    row.cells[3] = percent_text(shown.change);
    row.cells[4] = percent_interval_text(shown.interval);
  }
  return row;
}

std::vector<double> values_of(std::span<const ComparedCell> cells) {
  std::vector<double> values;
  for (const ComparedCell& cell : cells) {
    if (cell.base) values.push_back(cell.base->value);
    if (cell.fresh) values.push_back(cell.fresh->value);
  }
  return values;
}

void append_block(report::TablePage& page, std::span<const ComparedCell> cells, Metric metric) {
  const ValueFormat format = value_format(metric, values_of(cells));
  std::vector<text::GridRow> rows;
  for (const ComparedCell& cell : cells) rows.push_back(row_of(cell, format));
  const text::GridLayout layout = text::fit_columns(columns(), rows, page.width());
  page.blank();
  page.heading(block_text(cells.front().key), "");
  page.grid_header(layout);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    page.grid_row(layout, rows[i]);
    if (!cells[i].ruling.reason.empty()) {
      page.paragraph("  " + escaped(cells[i].ruling.reason, kLongestReason), 4, text::Tone::kFaint);
    }
  }
}

void append_blocks(report::TablePage& page, const ComparisonResult& result) {
  const std::span<const ComparedCell> cells = result.cells;
  std::size_t first = 0;
  while (first < cells.size()) {
    std::size_t last = first + 1;
    while (last < cells.size() && is_same_block(cells[first].key, cells[last].key)) ++last;
    append_block(page, cells.subspan(first, last - first), result.metric);
    first = last;
  }
}

void append_head(report::TablePage& page, const ComparisonResult& result) {
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

void append_summary_lines(report::TablePage& page, const ComparisonResult& result) {
  page.blank();
  std::string summary = counts_text(result);
  if (result.median_log_change) {
    summary += fmt::format("; median change {}",
                           percent_text(shown_change(*result.median_log_change, result.metric)));
  }
  if (!result.new_cells.empty()) {
    summary +=
        fmt::format("; {} not in the base",
                    text::format_count(static_cast<long long>(result.new_cells.size()), "cell"));
  }
  page.paragraph(summary, 0, text::Tone::kHeading);
}

void append_gate(report::TablePage& page, const ComparisonResult& result,
                 const GateDecision& decision) {
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
                             const report::TableStyle& style) {
  report::TablePage page(style);
  append_head(page, result);
  if (result.is_comparable) {
    append_blocks(page, result);
    append_summary_lines(page, result);
  } else {
    page.line("Not comparable.", text::Tone::kBad);
  }
  if (decision != nullptr) append_gate(page, result, *decision);
  return page.take();
}

}  // namespace nf4bench::compare
