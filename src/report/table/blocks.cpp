#include "record/throttling.hpp"
#include "report/ranking.hpp"
#include "report/table/parts.hpp"
#include "text/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <ranges>

namespace nf4bench::report {
namespace {

using Rows = std::vector<const record::Measurement*>;

// The cells of one geometry that differ in tokens alone.
struct Block {
  const record::Measurement* first = nullptr;  // names the first cell
  std::vector<Rows> cells;
  std::vector<text::GridRow> lines;
};

std::vector<Block> blocks_of(const record::Report& report) {
  std::vector<Block> blocks;
  for (const record::Measurement& m : report.measurements) {
    const record::Cell own = m.cell.over_all_tokens();
    auto block = std::find_if(blocks.begin(), blocks.end(), [&](const Block& b) {
      return b.first->cell.over_all_tokens() == own;
    });
    if (block == blocks.end()) block = blocks.insert(blocks.end(), Block{&m, {}, {}});
    auto& cells = block->cells;
    auto cell = std::find_if(cells.begin(), cells.end(),
                             [&](const Rows& rows) { return rows.front()->cell == m.cell; });
    if (cell == cells.end()) cell = cells.insert(cells.end(), Rows());
    cell->push_back(&m);
  }
  for (Block& block : blocks) {
    std::ranges::stable_sort(block.cells, {},
                             [](const Rows& rows) { return rows.front()->cell.tokens; });
  }
  return blocks;
}

void fill_lines(Block& block) {
  std::vector<double> medians;
  for (const Rows& rows : block.cells) {
    for (const record::Measurement* row : rows) {
      if (is_timed(*row)) medians.push_back(row->time_s->median);
    }
  }
  const text::TimeScale scale = text::time_scale(medians);
  for (const Rows& rows : block.cells) {
    const Ranking ranking = rank(rows);
    for (const record::Measurement* row : rows) {
      const std::string name =
          tokens_column(row->cell, row == rows.front()) + shown_variant(row->variant);
      block.lines.push_back(is_timed(*row) ? timed_row(*row, name, scale, ranking)
                                           : untimed_row(*row, name));
    }
  }
}

const record::ReportTensor* find_tensor(const record::Report& report, const std::string& id) {
  const auto found =
      std::find_if(report.tensors.begin(), report.tensors.end(),
                   [&](const record::ReportTensor& tensor) { return tensor.id == id; });
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
                  nf4::shape_to_string(tensor->geometry.shape), short_name(m.cell.output_type),
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
void append_tensor_name(TablePage& page, const record::ReportTensor& tensor) {
  if (tensor.name.empty() || tensor.name == nf4::shape_to_string(tensor.geometry.shape)) return;
  page.line("  " + text::fitted(tensor.name, page.width() - 2), text::Tone::kFaint);
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

bool has_mark(const std::vector<Block>& blocks, char mark) {
  return std::ranges::any_of(blocks, [mark](const Block& block) {
    return std::ranges::any_of(block.lines,
                               [mark](const text::GridRow& line) { return line.marker == mark; });
  });
}

// Of how many inputs of products the weights were looked at, where these are the fewest; empty
// where that is not known.
std::string inputs_seen_text(const record::Report& report, const std::vector<Block>& blocks) {
  std::optional<record::InputsSeen> fewest;
  std::int64_t inputs = 0;
  for (const Block& block : blocks) {
    const record::ReportTensor* const tensor = find_tensor(report, block.first->cell.tensor);
    for (const Rows& cell : block.cells) {
      for (const record::Measurement* const m : cell) {
        if (tensor == nullptr || !m->verification || !m->verification->accuracy) continue;
        const std::optional<record::InputsSeen>& seen = m->verification->accuracy->inputs;
        const std::int64_t all = tensor->geometry.shape.back();
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

// The blocks of one operation, whose columns stand in line from block to block.
void append_operation(TablePage& page, const record::Report& report,
                      const std::vector<Block>& blocks) {
  std::vector<text::GridRow> all_lines;
  for (const Block& block : blocks) {
    all_lines.insert(all_lines.end(), block.lines.begin(), block.lines.end());
  }
  const record::Cell& cell = blocks.front().first->cell;
  const text::GridLayout layout =
      text::fit_columns(block_columns(cell.tokens > 0), all_lines, page.width());
  for (const Block& block : blocks) {
    const record::ReportTensor* tensor = find_tensor(report, block.first->cell.tensor);
    page.blank();
    page.heading(block_title(*block.first, tensor), block_ceilings(report, *block.first));
    if (tensor != nullptr) append_tensor_name(page, *tensor);
    page.grid_header(layout);
    for (const text::GridRow& line : block.lines) page.grid_row(layout, line);
  }
  append_legend(page, layout,
                {.baseline = record::baseline_of(report.settings, cell.operation),
                 .is_undecided = has_mark(blocks, kCandidateMark),
                 .is_throttled = has_throttled_samples(blocks),
                 .has_reference_line = has_mark(blocks, kReferenceMark),
                 .inputs_seen = inputs_seen_text(report, blocks)});
}

}  // namespace

void append_blocks(TablePage& page, const record::Report& report) {
  std::vector<Block> blocks = blocks_of(report);
  for (Block& block : blocks) fill_lines(block);
  while (!blocks.empty()) {
    const std::string operation = blocks.front().first->cell.operation;
    const auto others = std::stable_partition(
        blocks.begin(), blocks.end(),
        [&](const Block& block) { return block.first->cell.operation == operation; });
    append_operation(page, report, {blocks.begin(), others});
    blocks.erase(blocks.begin(), others);
  }
}

}  // namespace nf4bench::report
