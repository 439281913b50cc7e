#include "report/crossover.hpp"
#include "report/table/parts.hpp"
#include "text/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace nf4bench::report {
namespace {

// The tensors that any variant was to run on in one cell, with any number of tokens, and how many
// they stand for.
struct Extent {
  std::int64_t geometries = 0;
  std::int64_t tensors = 0;
};

Extent extent_of(const record::Report& report, const record::Cell& cell) {
  std::set<std::string> ids;
  for (const record::Measurement& m : report.measurements) {
    if (m.cell.over_all_tensors().over_all_tokens() == cell) ids.insert(m.cell.tensor);
  }
  Extent extent;
  for (const record::ReportTensor& tensor : report.tensors) {
    if (!ids.contains(tensor.id)) continue;
    ++extent.geometries;
    extent.tensors += tensor.multiplicity;
  }
  return extent;
}

// Dropped on narrow terminals, highest rank first: highest, lowest, geomean, passed,
// tokens/s.
std::vector<text::GridColumn> summary_columns(bool has_tokens) {
  return {
      {has_tokens ? "tokens variant" : "variant", text::Align::kLeft},
      {has_tokens ? "a step" : "all tensors"},
      {"tokens/s", text::Align::kRight, 1},
      {"energy", text::Align::kRight, 1},
      {"speedup"},
      {"geomean", text::Align::kRight, 3},
      {"lowest", text::Align::kRight, 4},
      {"highest", text::Align::kRight, 5},
      {"passed", text::Align::kRight, 2},
  };
}

template <typename Format>
std::string if_known(std::optional<double> value, Format&& format) {
  return value ? format(*value) : std::string();
}

// Three significant digits: what is bounded is not known better.
std::string token_rate_text(double tokens_per_s) {
  const int decimals = tokens_per_s >= 100.0 ? 0 : tokens_per_s >= 10.0 ? 1 : 2;
  return fmt::format("{:.{}f}", tokens_per_s, decimals);
}

// Of a row whose first column reads `name`.
std::vector<std::string> summary_cells(const record::VariantSummary& s, const std::string& name,
                                       const text::TimeScale& scale, const Extent& extent) {
  return {
      name,
      if_known(s.model_time_s, [&](double time_s) { return text::format_time(time_s, scale); }),
      if_known(s.tokens_per_s, token_rate_text),
      if_known(s.model_energy_j, text::format_energy),
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
  return std::any_of(cell.begin(), cell.end(), [](const record::VariantSummary& s) {
    return s.model_time_s && s.in_doubt && !s.reference_line;
  });
}

// The variant with the shortest total; none when there is nothing to choose from.
std::string fastest_of(const CellSummary& cell) {
  const record::VariantSummary* fastest = nullptr;
  int timed = 0;
  for (const record::VariantSummary& s : cell) {
    if (!s.model_time_s || s.reference_line) continue;
    ++timed;
    if (fastest == nullptr || *s.model_time_s < *fastest->model_time_s) fastest = &s;
  }
  return timed > 1 && !is_undecided(cell) ? fastest->variant : std::string();
}

struct SummaryStyle {
  std::string baseline;
  text::TimeScale scale;
  Extent extent;
};

std::vector<text::GridRow> summary_rows(const CellSummary& cell, const SummaryStyle& style) {
  const std::string fastest = fastest_of(cell);
  std::vector<text::GridRow> rows;
  for (const record::VariantSummary& s : cell) {
    text::GridRow row;
    const std::string name = tokens_column(s.cell, rows.empty()) + shown_variant(s.variant);
    row.cells = summary_cells(s, name, style.scale, style.extent);
    if (s.variant == style.baseline) row.marker = kBaselineMark;
    if (s.reference_line) row.marker = kReferenceMark;
    if (s.cells < style.extent.geometries) row.tone = text::Tone::kFaint;
    if (s.cells == 0) row.message = "passed on none";
    if (s.model_time_s && s.in_doubt && !s.reference_line) {
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

// The cells that differ in tokens alone, by tokens.
using Summary = std::vector<CellSummary>;

text::TimeScale scale_of(const Summary& summary) {
  std::vector<double> times;
  for (const CellSummary& cell : summary) {
    for (const record::VariantSummary& s : cell) {
      if (s.model_time_s) times.push_back(*s.model_time_s);
    }
  }
  return text::time_scale(times);
}

void append_one(TablePage& page, const record::Report& report, const Summary& summary) {
  const record::Cell cell = summary.front().front().cell.over_all_tokens();
  const Extent extent = extent_of(report, cell);
  if (extent.tensors <= 1) return;  // the block above says it all
  const SummaryStyle style = {.baseline = record::baseline_of(report.settings, cell.operation),
                              .scale = scale_of(summary),
                              .extent = extent};
  std::vector<text::GridRow> rows;
  for (const CellSummary& each : summary) {
    for (text::GridRow& row : summary_rows(each, style)) rows.push_back(std::move(row));
  }
  const bool has_tokens = summary.front().front().cell.tokens > 0;
  const text::GridLayout layout =
      text::fit_columns(summary_columns(has_tokens), rows, page.width());
  page.blank();
  page.heading((has_tokens ? "A step of the model  " : "All tensors once  ") + cell_name(cell),
               fmt::format("{} of {} geometr{}", text::format_count(extent.tensors, "tensor"),
                           extent.geometries, extent.geometries == 1 ? "y" : "ies"));
  page.grid_header(layout);
  for (const text::GridRow& row : rows) page.grid_row(layout, row);
  if (!layout.shows("tokens/s")) return;
  page.paragraph(
      "a step: each product once, with so many tokens; tokens/s: what that alone lets the model "
      "decode at most",
      2, text::Tone::kFaint);
}

// Some tensors may have been multiplied with more numbers of tokens than others; only what all have
// in common is the whole model.
bool is_whole(const record::Report& report, const CellSummary& cell) {
  const std::int64_t whole = extent_of(report, cell.front().cell.over_all_tokens()).geometries;
  std::set<std::string> ids;
  for (const record::Measurement& m : report.measurements) {
    if (m.cell.over_all_tensors() == cell.front().cell) ids.insert(m.cell.tensor);
  }
  return static_cast<std::int64_t>(ids.size()) == whole;
}

}  // namespace

void append_summary(TablePage& page, const record::Report& report) {
  std::vector<CellSummary> cells;
  for (record::VariantSummary& s : summarize_variants(report)) {
    if (cells.empty() || cells.back().front().cell != s.cell) cells.emplace_back();
    cells.back().push_back(std::move(s));
  }
  std::erase_if(cells, [&](const CellSummary& cell) { return !is_whole(report, cell); });
  std::vector<Summary> summaries;
  for (CellSummary& cell : cells) {
    const record::Cell own = cell.front().cell.over_all_tokens();
    auto summary = std::ranges::find_if(summaries, [&](const Summary& each) {
      return each.front().front().cell.over_all_tokens() == own;
    });
    if (summary == summaries.end()) summary = summaries.insert(summaries.end(), Summary());
    summary->push_back(std::move(cell));
  }
  for (Summary& summary : summaries) {
    std::ranges::stable_sort(summary, {},
                             [](const CellSummary& cell) { return cell.front().cell.tokens; });
    append_one(page, report, summary);
  }
}

void append_crossovers(TablePage& page, const record::Report& report) {
  const std::vector<Crossover> crossovers = find_crossovers(report);
  record::Cell last;
  for (const Crossover& each : crossovers) {
    if (each.stretches.size() == 1 && each.stretches.front().variant.empty()) continue;
    if (each.cell.over_all_tensors() != last) {
      last = each.cell.over_all_tensors();
      page.blank();
      page.heading("Fastest by tokens  " + cell_name(last), "");
    }
    const auto tensor =
        std::ranges::find(report.tensors, each.cell.tensor, &record::ReportTensor::id);
    page.paragraph(
        fmt::format("  {}: {}",
                    tensor == report.tensors.end() ? text::fitted(each.cell.tensor, 30)
                                                   : nf4::shape_to_string(tensor->geometry.shape),
                    stretches_text(each)),
        4);
  }
}

}  // namespace nf4bench::report
