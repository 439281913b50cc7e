#include "report/table/parts.hpp"
#include "text/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace nf4bench::report {
namespace {

// The tensors that any variant was to run on in one cell, and how many they stand for.
struct Extent {
  std::int64_t geometries = 0;
  std::int64_t tensors = 0;
};

Extent extent_of(const record::Report& report, const record::Cell& cell) {
  std::set<std::string> ids;
  for (const record::Measurement& m : report.measurements) {
    if (m.cell.over_all_tensors() == cell) ids.insert(m.cell.tensor);
  }
  Extent extent;
  for (const record::ReportTensor& tensor : report.tensors) {
    if (!ids.contains(tensor.id)) continue;
    ++extent.geometries;
    extent.tensors += tensor.multiplicity;
  }
  return extent;
}

// Dropped on narrow terminals, highest rank first: highest, lowest, geomean, passed.
std::vector<text::GridColumn> summary_columns() {
  return {
      {"variant", text::Align::kLeft},
      {"all tensors"},
      {"speedup"},
      {"geomean", text::Align::kRight, 2},
      {"lowest", text::Align::kRight, 3},
      {"highest", text::Align::kRight, 4},
      {"passed", text::Align::kRight, 1},
  };
}

template <typename Format>
std::string if_known(std::optional<double> value, Format&& format) {
  return value ? format(*value) : std::string();
}

std::vector<std::string> summary_cells(const record::VariantSummary& s,
                                       const text::TimeScale& scale, const Extent& extent) {
  return {
      shown_variant(s.variant),
      if_known(s.model_time_s, [&](double time_s) { return text::format_time(time_s, scale); }),
      if_known(s.model_speedup, text::format_ratio),
      if_known(s.speedup_geomean, text::format_ratio),
      if_known(s.speedup_min, text::format_ratio),
      if_known(s.speedup_max, text::format_ratio),
      fmt::format("{} of {}", s.cells, extent.geometries),
  };
}

// The variants of one cell over all tensors.
using CellSummary = std::vector<record::VariantSummary>;

// True when a total rests on a time that cannot be ranked.
bool is_undecided(const CellSummary& cell) {
  return std::any_of(cell.begin(), cell.end(),
                     [](const record::VariantSummary& s) { return s.model_time_s && s.in_doubt; });
}

// The variant with the shortest total; none when there is nothing to choose from.
std::string fastest_of(const CellSummary& cell) {
  const record::VariantSummary* fastest = nullptr;
  int timed = 0;
  for (const record::VariantSummary& s : cell) {
    if (!s.model_time_s) continue;
    ++timed;
    if (fastest == nullptr || *s.model_time_s < *fastest->model_time_s) fastest = &s;
  }
  return timed > 1 && !is_undecided(cell) ? fastest->variant : std::string();
}

std::vector<text::GridRow> summary_rows(const CellSummary& cell, const Extent& extent,
                                        const std::string& baseline) {
  std::vector<double> times;
  for (const record::VariantSummary& s : cell) {
    if (s.model_time_s) times.push_back(*s.model_time_s);
  }
  const text::TimeScale scale = text::time_scale(times);
  const std::string fastest = fastest_of(cell);
  std::vector<text::GridRow> rows;
  for (const record::VariantSummary& s : cell) {
    text::GridRow row;
    row.cells = summary_cells(s, scale, extent);
    if (s.variant == baseline) row.marker = kBaselineMark;
    if (s.cells < extent.geometries) row.tone = text::Tone::kFaint;
    if (s.cells == 0) row.message = "passed on none";
    if (s.model_time_s && s.in_doubt) {
      row.marker = kCandidateMark;
      row.tone = text::Tone::kDoubt;
    }
    if (s.variant == fastest) {
      row.marker = kFastestMark;
      row.tone = text::Tone::kGood;
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

void append_cell(TablePage& page, const record::Report& report, const CellSummary& cell) {
  const Extent extent = extent_of(report, cell.front().cell);
  if (extent.tensors <= 1) return;  // the block above says it all
  const std::vector<text::GridRow> rows =
      summary_rows(cell, extent, record::baseline_of(report.settings, cell.front().cell.operation));
  const text::GridLayout layout = text::fit_columns(summary_columns(), rows, page.width());
  page.blank();
  page.heading("All tensors once  " + cell_name(cell.front().cell),
               fmt::format("{} of {} geometr{}", text::format_count(extent.tensors, "tensor"),
                           extent.geometries, extent.geometries == 1 ? "y" : "ies"));
  page.grid_header(layout);
  for (const text::GridRow& row : rows) page.grid_row(layout, row);
}

}  // namespace

void append_summary(TablePage& page, const record::Report& report) {
  std::vector<CellSummary> cells;
  for (record::VariantSummary& s : summarize_variants(report)) {
    if (cells.empty() || cells.back().front().cell != s.cell) cells.emplace_back();
    cells.back().push_back(std::move(s));
  }
  for (const CellSummary& cell : cells) append_cell(page, report, cell);
}

}  // namespace nf4bench::report
