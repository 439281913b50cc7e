#include "record/sample_digest.hpp"
#include "record/throttling.hpp"
#include "report/ranking.hpp"
#include "report/table/parts.hpp"
#include "text/units.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace nf4bench::report {
namespace {

// The rows of one geometry and cell.
struct Block {
  const record::Measurement* first = nullptr;  // names the cell
  std::vector<const record::Measurement*> rows;
  std::vector<text::GridRow> lines;
};

std::vector<Block> blocks_of(const record::Report& report) {
  std::vector<Block> blocks;
  for (const record::Measurement& m : report.measurements) {
    auto block = std::find_if(blocks.begin(), blocks.end(),
                              [&](const Block& b) { return b.first->cell == m.cell; });
    if (block == blocks.end()) block = blocks.insert(blocks.end(), Block{&m, {}, {}});
    block->rows.push_back(&m);
  }
  return blocks;
}

// The columns of a block. Narrow terminals lose them in the order of their ranks, highest first:
// clock, samples, p95, +/- %, % stream, status, GB/s, % copy, 95 % interval.
std::vector<text::GridColumn> block_columns() {
  return {
      {"variant", text::Align::kLeft},          {"median"},
      {"+/- %", text::Align::kRight, 6},        {"p95", text::Align::kRight, 7},
      {"GB/s", text::Align::kRight, 3},         {"% copy", text::Align::kRight, 2},
      {"% stream", text::Align::kRight, 5},     {"speedup"},
      {"95 % interval", text::Align::kLeft, 1}, {"samples", text::Align::kRight, 8},
      {"clock", text::Align::kRight, 9},        {"status", text::Align::kLeft, 4},
  };
}

template <typename Format>
std::string if_known(std::optional<double> value, Format&& format) {
  return value ? format(*value) : std::string();
}

std::string format_clock(double clock_hz) {
  return fmt::format("{:.0f} MHz", clock_hz / 1e6);
}

// "passed", or instead of that what is to be known about its samples.
std::string timed_status(const record::Measurement& m) {
  if (std::string doubt = doubt_of(m); !doubt.empty()) return doubt;
  if (m.throttled_samples.value_or(0) == 0) return "passed";
  const double percent = 100.0 * record::throttled_share(m);
  return percent < 1.0 ? "throttled <1 %" : fmt::format("throttled {:.0f} %", percent);
}

bool is_baseline(const record::Measurement& m) {
  return m.speedup && m.speedup->baseline == m.variant;
}

std::vector<std::string> timed_cells(const record::Measurement& m, const text::TimeScale& scale) {
  const statistics::Summary& time = *m.time_s;
  const std::optional<double> half_width = statistics::relative_half_width(time);
  return {
      shown_variant(m.variant),
      text::format_time(time.median, scale),
      half_width && time.median > 0.0 ? fmt::format("{:.2f}", 100.0 * *half_width) : "",
      text::format_time(time.p95, scale),
      if_known(m.bytes_per_s, text::format_gigabytes),
      if_known(m.fraction_of_copy, text::format_percent),
      if_known(m.fraction_of_stream, text::format_percent),
      m.speedup ? text::format_ratio(m.speedup->ratio) : "",
      m.speedup ? speedup_interval_text(*m.speedup, m.variant) : "",
      fmt::format("{}", record::sample_count(m)),
      if_known(record::mean_clock_hz(m), format_clock),
      timed_status(m),
  };
}

text::GridRow untimed_row(const record::Measurement& m) {
  const char* word = m.status == record::Status::kFailed    ? "FAILED"
                     : m.status == record::Status::kInvalid ? "INVALID"
                     : m.status == record::Status::kSkipped ? "skipped"
                                                            : "passed, not timed";
  const text::Tone tone = m.status == record::Status::kSkipped  ? text::Tone::kFaint
                          : m.status == record::Status::kPassed ? text::Tone::kPlain
                                                                : text::Tone::kBad;
  std::string message = word;
  if (!m.reason.empty()) message += ": " + m.reason;
  text::GridRow row;
  row.cells = {shown_variant(m.variant)};
  row.tone = tone;
  row.message = std::move(message);
  return row;
}

void fill_lines(Block& block) {
  std::vector<double> medians;
  for (const record::Measurement* row : block.rows) {
    if (is_timed(*row)) medians.push_back(row->time_s->median);
  }
  const text::TimeScale scale = text::time_scale(medians);
  const Ranking ranking = rank(block.rows);
  for (const record::Measurement* row : block.rows) {
    if (!is_timed(*row)) {
      block.lines.push_back(untimed_row(*row));
      continue;
    }
    text::GridRow line;
    line.cells = timed_cells(*row, scale);
    if (is_baseline(*row)) line.marker = kBaselineMark;
    if (row == ranking.fastest) {
      line.marker = kFastestMark;
      line.tone = text::Tone::kGood;
    } else if (ranking.is_candidate(*row)) {
      line.marker = kCandidateMark;
      line.tone = text::Tone::kDoubt;
    }
    block.lines.push_back(std::move(line));
  }
}

const record::ReportTensor* find_tensor(const record::Report& report, const std::string& id) {
  const auto found =
      std::find_if(report.tensors.begin(), report.tensors.end(),
                   [&](const record::ReportTensor& tensor) { return tensor.id == id; });
  return found == report.tensors.end() ? nullptr : &*found;
}

// "14336x4096  bf16  nested/64  x64  cold graph"
std::string block_title(const record::Measurement& m, const record::ReportTensor* tensor) {
  if (tensor == nullptr) {
    return fmt::format("{}  {}", text::fitted(m.cell.tensor, 30), cell_name(m.cell));
  }
  std::string title = fmt::format(
      "{}  {}  {}/{}", nf4::shape_to_string(tensor->geometry.shape), short_name(m.cell.output_type),
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

bool has_throttled_samples(const record::Report& report) {
  return std::any_of(report.measurements.begin(), report.measurements.end(),
                     [](const record::Measurement& m) {
                       return is_timed(m) && m.throttled_samples.value_or(0) > 0;
                     });
}

bool has_candidate(const std::vector<Block>& blocks) {
  return std::any_of(blocks.begin(), blocks.end(), [](const Block& block) {
    return std::any_of(block.lines.begin(), block.lines.end(),
                       [](const text::GridRow& line) { return line.marker == kCandidateMark; });
  });
}

void append_legend(TablePage& page, const text::GridLayout& layout, const record::Report& report,
                   bool is_undecided) {
  std::string text = fmt::format("{} fastest", kFastestMark);
  if (is_undecided) {
    text += fmt::format(
        "  {} may be the fastest: other programs kept the machine busy, the spread is "
        "over {:.0f} %, or fewer than {} samples carry no interval",
        kCandidateMark, 100.0 * kWidestHalf, statistics::kFewestForInterval);
  }
  if (layout.shows("speedup")) {
    text += fmt::format("  {} baseline ({}); speedup: the baseline's time over the variant's",
                        kBaselineMark, shown_variant(report.settings.baseline));
  }
  if (layout.shows("GB/s")) text += "; GB/s: bytes that the format needs, read and written, 1e9";
  if (layout.shows("% copy")) text += "; % copy: of the device's own copy in this run";
  if (layout.shows("% stream")) text += "; % stream: of the best kernel that only moves the bytes";
  if (layout.shows("+/- %")) text += "; +/- %: half the median's 95 % interval";
  if (has_throttled_samples(report)) {
    text += fmt::format(
        "; throttled: passed, with so many samples whose SM clock was over {:.0f} % under the "
        "highest of the block",
        100.0 * record::kThrottledBelowHighest);
  }
  page.blank();
  page.paragraph(text, 2, text::Tone::kFaint);
}

}  // namespace

void append_blocks(TablePage& page, const record::Report& report) {
  std::vector<Block> blocks = blocks_of(report);
  std::vector<text::GridRow> all_lines;  // columns stand in line from block to block
  for (Block& block : blocks) {
    fill_lines(block);
    all_lines.insert(all_lines.end(), block.lines.begin(), block.lines.end());
  }
  const text::GridLayout layout = text::fit_columns(block_columns(), all_lines, page.width());
  for (const Block& block : blocks) {
    const record::ReportTensor* tensor = find_tensor(report, block.first->cell.tensor);
    page.blank();
    page.heading(block_title(*block.first, tensor), block_ceilings(report, *block.first));
    if (tensor != nullptr) append_tensor_name(page, *tensor);
    page.grid_header(layout);
    for (const text::GridRow& line : block.lines) page.grid_row(layout, line);
  }
  if (!blocks.empty()) append_legend(page, layout, report, has_candidate(blocks));
}

}  // namespace nf4bench::report
