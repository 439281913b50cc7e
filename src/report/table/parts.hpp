#pragma once

// The table's own parts, shared by its source files.

#include "report/ranking.hpp"
#include "report/report.hpp"
#include "text/text_grid.hpp"
#include "text/units.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace nf4bench::report {

// Collects the lines of a table. What a terminal would act on is escaped in each, see printable().
class TablePage {
 public:
  explicit TablePage(const TableStyle& style);

  int width() const { return style_.width; }
  void line(std::string_view text, text::Tone tone = text::Tone::kPlain);
  void blank() { text_ += '\n'; }

  // `text` wrapped to the page, continued after `indent` blanks.
  void paragraph(std::string_view text, int indent, text::Tone tone = text::Tone::kPlain);

  // `left` and, at the right edge of the page or on a line of its own, `right`.
  void heading(const std::string& left, const std::string& right);

  void grid_header(const text::GridLayout& layout) {
    line(text::header_line(layout), text::Tone::kFaint);
  }
  void grid_row(const text::GridLayout& layout, const text::GridRow& row) {
    line(text::row_line(layout, row), row.tone);
  }

  std::string take() { return std::move(text_); }

 private:
  TableStyle style_;
  std::string text_;
};

// A speedup's interval, "baseline", or why there is none.
std::string speedup_interval_text(const record::Speedup& speedup, const std::string& variant);

// "bf16", "fp16", "fp32"
const char* short_name(nf4::OutputType type);

// "matmul  " for an operation that has to be named: dequantize goes without saying.
std::string operation_prefix(const record::Cell& cell);

// "bf16  cold graph", "matmul  bf16  8 tokens  cold graph"
std::string cell_name(const record::Cell& cell);

// A variant's name as the table shows it.
std::string shown_variant(const std::string& name);

inline constexpr char kFastestMark = '*';
inline constexpr char kBaselineMark = '=';
inline constexpr char kReferenceMark = '~';
inline constexpr char kCandidateMark = '?';  // nobody can say which of these is the fastest

// What stands before a variant of a cell with tokens, below the word "tokens": their number, in the
// first line of the cell; nothing where there are none.
std::string tokens_column(const record::Cell& cell, bool is_first);

// The columns of a block, of an operation with tokens or without. Narrow terminals lose them in the
// order of their ranks, highest first: clock, samples, p95, +/- %, % stream, status, GB/s, % copy,
// 95 % interval. Where there are tokens the interval goes before rates and accuracy.
std::vector<text::GridColumn> block_columns(bool has_tokens);

// The line of a measurement; its first column reads `name`.
text::GridRow timed_row(const record::Measurement& m, const std::string& name,
                        const text::TimeScale& scale, const Ranking& ranking);
text::GridRow untimed_row(const record::Measurement& m, const std::string& name);

// What is to be explained below blocks, besides their columns.
struct Legend {
  std::string baseline;
  bool is_undecided = false;
  bool is_throttled = false;
  bool has_reference_line = false;
  std::string inputs_seen;  // of how many inputs of products the weights were looked at
};
void append_legend(TablePage& page, const text::GridLayout& layout, const Legend& legend);

// A block for each geometry and cell, with all variants; then how to read it.
void append_blocks(TablePage& page, const record::Report& report);

// A block for each cell: all geometries together, and the time of the whole model.
void append_summary(TablePage& page, const record::Report& report);

// Which variant is the fastest with how many tokens; nothing without several numbers of tokens.
void append_crossovers(TablePage& page, const record::Report& report);

}  // namespace nf4bench::report
