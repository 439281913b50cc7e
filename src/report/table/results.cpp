#include "record/samples.hpp"
#include "report/ranking.hpp"
#include "report/table/columns.hpp"
#include "report/tables.hpp"
#include "text/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <ranges>

namespace nf4bench::report {
namespace {

using Rows = std::vector<const record::Measurement*>;

constexpr std::size_t kNames = 2;  // columns that name a row: tokens and variant

// The cells of one geometry that differ in tokens alone.
struct Block {
  const record::Measurement* first = nullptr;  // names the first cell
  std::vector<Rows> cells;
};

std::vector<Block> blocks_of(const record::Report& report) {
  std::vector<Block> blocks;
  for (const record::Measurement& m : report.measurements) {
    const record::Cell own = m.cell.over_all_tokens();
    auto block = std::ranges::find_if(
        blocks, [&](const Block& b) { return b.first->cell.over_all_tokens() == own; });
    if (block == blocks.end()) block = blocks.insert(blocks.end(), Block{&m, {}});
    auto& cells = block->cells;
    auto cell =
        std::ranges::find_if(cells, [&](const Rows& rows) { return rows.front()->cell == m.cell; });
    if (cell == cells.end()) cell = cells.insert(cells.end(), Rows());
    cell->push_back(&m);
  }
  for (Block& block : blocks) {
    std::ranges::stable_sort(block.cells, {},
                             [](const Rows& rows) { return rows.front()->cell.tokens; });
  }
  return blocks;
}

// Instead of its time: the status of a row that has none, and why.
text::Row untimed_row(const record::Measurement& m) {
  const char* word = m.status == record::Status::kFailed    ? "FAILED"
                     : m.status == record::Status::kInvalid ? "INVALID"
                     : m.status == record::Status::kSkipped ? "skipped"
                                                            : "passed, not timed";
  text::Row row;
  row.tone = m.status == record::Status::kSkipped  ? text::Tone::kFaint
             : m.status == record::Status::kPassed ? text::Tone::kPlain
                                                   : text::Tone::kBad;
  row.message = m.reason.empty() ? word : fmt::format("{}: {}", word, m.reason);
  return row;
}

text::Row row_of(const text::Columns<ResultLine>& columns, const ResultLine& line,
                 const Ranking& ranking) {
  if (!is_timed(line.m)) {
    text::Row row = untimed_row(line.m);
    for (std::size_t i = 0; i < kNames; ++i) row.cells.push_back(columns[i].of(line));
    row.cells.resize(columns.size());
    return row;
  }
  text::Row row = text::row_of(columns, line);
  if (line.m.speedup && line.m.speedup->baseline == line.m.variant) row.mark = kBaselineMark;
  if (line.m.reference_line) row.mark = kReferenceMark;
  if (&line.m == ranking.fastest) {
    row.mark = kFastestMark;
    row.tone = text::Tone::kGood;
  } else if (ranking.is_candidate(line.m)) {
    row.mark = kCandidateMark;
    row.tone = text::Tone::kDoubt;
  }
  return row;
}

const record::ReportTensor* find_tensor(const record::Report& report, const std::string& id) {
  const auto found = std::ranges::find(report.tensors, id, &record::ReportTensor::id);
  return found == report.tensors.end() ? nullptr : &*found;
}

// "matmul  14336x4096  bf16  nested/64  x64  cold graph"; dequantize goes without saying
std::string block_title(const record::Measurement& m, const record::ReportTensor* tensor) {
  if (tensor == nullptr) {
    return fmt::format("{}  {}", text::fitted(m.cell.tensor, 30),
                       cell_name(m.cell.over_all_tokens()));
  }
  std::string title =
      fmt::format("{}{}  {}  {}/{}", operation_prefix(m.cell),
                  record::describe_shape(tensor->geometry), short_name(m.cell.output_type),
                  to_string(tensor->geometry.absmax_kind), tensor->geometry.blocksize);
  if (tensor->multiplicity > 1) title += fmt::format("  x{}", tensor->multiplicity);
  return title + fmt::format("  {} {}", to_string(m.cell.cache), to_string(m.cell.launch));
}

// "copy 4284 GB/s, stream 97 %"
std::string block_ceilings(const record::Report& report, const record::Measurement& m) {
  const double copy = report.ceilings.copy_bytes_per_s;
  if (!(copy > 0.0)) return "";
  std::string text = fmt::format("copy {} GB/s", text::format_gigabytes(copy));
  for (const record::StreamCeiling& stream : report.stream_ceilings) {
    if (stream.bytes_per_s > 0.0 && stream.cell == m.cell) {
      text += fmt::format(", stream {:.0f} %", 100.0 * stream.bytes_per_s / copy);
    }
  }
  return text;
}

// Which tensor was timed: "model.layers.0.mlp.up_proj.weight", where the shape does not say it.
std::string tensor_name(const record::ReportTensor* tensor) {
  constexpr int kLongest = 120;
  const bool says_more =
      tensor != nullptr && tensor->name != nf4::shape_to_string(tensor->geometry.shape);
  return says_more ? text::fitted(tensor->name, kLongest) : "";
}

bool has_throttled_samples(const std::vector<Block>& blocks) {
  const auto is_throttled = [](const record::Measurement* m) {
    return is_timed(*m) && m->throttled_samples.value_or(0) > 0;
  };
  return std::ranges::any_of(blocks, [&](const Block& block) {
    return std::ranges::any_of(
        block.cells, [&](const Rows& rows) { return std::ranges::any_of(rows, is_throttled); });
  });
}

bool has_mark(const text::Sheet& sheet, char mark) {
  return std::ranges::any_of(sheet.sections, [mark](const text::Section& section) {
    return std::ranges::any_of(section.rows,
                               [mark](const text::Row& row) { return row.mark == mark; });
  });
}

// How many products each output of a call is the sum of.
std::int64_t inputs_of(const record::Measurement& m) {
  const auto size = static_cast<double>(nf4::size_in_bytes(m.cell.output_type));
  return std::llround(m.flops / 2.0 * size / static_cast<double>(m.bytes_written));
}

// Of how many inputs of products the weights were looked at, where these are the fewest; empty
// where that is not known.
std::string inputs_seen_text(const std::vector<Block>& blocks) {
  std::optional<record::InputsSeen> fewest;
  std::int64_t inputs = 0;
  for (const Block& block : blocks) {
    for (const Rows& cell : block.cells) {
      for (const record::Measurement* const m : cell) {
        if (m->bytes_written == 0 || !m->verification || !m->verification->accuracy) continue;
        const std::optional<record::InputsSeen>& seen = m->verification->accuracy->inputs;
        const std::int64_t all = inputs_of(*m);
        if (!seen || (fewest && fewest->alone * all <= seen->alone * inputs)) continue;
        fewest = seen;
        inputs = all;
      }
    }
  }
  if (!fewest) return "";
  if (fewest->alone == inputs) return "each weight was seen alone";
  return fmt::format("weights of {} of {} inputs were seen alone, of {} in exact sums",
                     fewest->alone, inputs,
                     fewest->summed == inputs ? "all" : fmt::format("{}", fewest->summed));
}

text::Section section_of(const record::Report& report, const Block& block,
                         const text::Columns<ResultLine>& columns) {
  const record::ReportTensor* tensor = find_tensor(report, block.first->cell.tensor);
  text::Section section = {.title = block_title(*block.first, tensor),
                           .aside = block_ceilings(report, *block.first),
                           .note = tensor_name(tensor)};
  for (const Rows& rows : block.cells) {
    const Ranking ranking = rank(rows);
    const auto resident = std::ranges::find_if(
        rows, [](const record::Measurement* row) { return row->reference_line && is_timed(*row); });
    for (const record::Measurement* row : rows) {
      const ResultLine line = {*row, row == rows.front(),
                               resident == rows.end() ? nullptr : *resident};
      section.rows.push_back(row_of(columns, line, ranking));
    }
  }
  return section;
}

// What marks and rows mean, besides the columns.
std::vector<std::string> legend_of(const record::Report& report, const std::vector<Block>& blocks,
                                   const text::Sheet& sheet) {
  const std::string& operation = blocks.front().first->cell.operation;
  std::string marks = fmt::format("{} fastest", kFastestMark);
  if (has_mark(sheet, kCandidateMark)) {
    marks += fmt::format(
        "  {} may be the fastest: the spread is over {:.0f} %, or other programs disturbed the "
        "times and the ratios do not decide, or fewer than {} samples carry no interval",
        kCandidateMark, 100.0 * kWidestHalf, statistics::kFewestForInterval);
  }
  if (has_mark(sheet, kBaselineMark)) {
    marks += fmt::format("  {} baseline ({})", kBaselineMark,
                         text::fitted(record::baseline_of(report.settings, operation), 24));
  }
  if (has_mark(sheet, kReferenceMark)) {
    marks += fmt::format("  {} not ranked: reads a weight that is no longer NF4", kReferenceMark);
  }
  std::vector<std::string> legend = {std::move(marks)};
  if (std::string seen = inputs_seen_text(blocks); !seen.empty()) {
    legend.push_back(std::move(seen));
  }
  if (has_throttled_samples(blocks)) {
    legend.push_back(fmt::format(
        "throttled: passed, with so many samples whose SM clock was over {:.0f} % under the "
        "highest of its row",
        100.0 * record::kThrottledBelowHighest));
  }
  return legend;
}

// The blocks of one operation, whose columns stand in line from block to block.
text::Sheet sheet_of(const record::Report& report, const std::vector<Block>& blocks) {
  const auto columns = result_columns(blocks.front().first->cell.tokens > 0);
  text::Sheet sheet = text::empty_sheet(columns);
  sheet.leading = kNames;
  sheet.sections.reserve(blocks.size());
  for (const Block& block : blocks) sheet.sections.push_back(section_of(report, block, columns));
  sheet.legend = legend_of(report, blocks, sheet);
  return sheet;
}

}  // namespace

std::vector<text::Sheet> result_sheets(const record::Report& report) {
  std::vector<Block> blocks = blocks_of(report);
  std::vector<text::Sheet> sheets;
  while (!blocks.empty()) {
    const std::string operation = blocks.front().first->cell.operation;
    const auto others = std::stable_partition(
        blocks.begin(), blocks.end(),
        [&](const Block& block) { return block.first->cell.operation == operation; });
    sheets.push_back(sheet_of(report, {blocks.begin(), others}));
    blocks.erase(blocks.begin(), others);
  }
  return sheets;
}

}  // namespace nf4bench::report
