#include "report/ranking.hpp"
#include "report/table/columns.hpp"
#include "report/tables.hpp"
#include "text/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
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

// The variants of one cell over all tensors.
using CellSummary = std::vector<record::VariantSummary>;

// The cells that differ in tokens alone, by tokens.
using Summary = std::vector<CellSummary>;

// A variant over all tensors of a cell.
struct Line {
  const record::VariantSummary& s;
  bool is_first = false;  // of its cell
  const Extent& extent;
};

text::Columns<Line> model_columns(bool has_tokens) {
  using text::Unit;
  const auto ratio = [](const char* name, int rank,
                        std::optional<double> record::VariantSummary::*of) {
    return text::ColumnOf<Line>{{.name = name, .unit = Unit::kRatio, .rank = rank},
                                [of](const Line& line) { return line.s.*of; }};
  };
  using Totals = record::VariantSummary;
  return {
      {{.name = "tokens"}, [](const Line& line) { return tokens_of(line.s.cell, line.is_first); }},
      {{.name = "variant", .most = 24}, [](const Line& line) { return line.s.variant; }},
      {{.name = has_tokens ? "a step" : "all tensors",
        .unit = Unit::kSeconds,
        .meaning = has_tokens ? "each product once, with so many tokens" : ""},
       [](const Line& line) { return line.s.model_time_s; }},
      {{.name = "tokens/s",
        .unit = Unit::kPerSecond,
        .rank = 1,
        .meaning = "what that alone lets the model decode at most"},
       [](const Line& line) { return line.s.tokens_per_s; }},
      {{.name = "energy", .unit = Unit::kJoules, .rank = 1},
       [](const Line& line) { return line.s.model_energy_j; }},
      ratio("speedup", 0, &Totals::model_speedup),
      ratio("geomean", 3, &Totals::speedup_geomean),
      ratio("lowest", 4, &Totals::speedup_min),
      ratio("highest", 5, &Totals::speedup_max),
      {{.name = "passed", .rank = 2}, [](const Line& line) {
         return fmt::format("{} of {}", line.s.cells, line.extent.geometries);
       }}};
}

// The variants that may be the fastest with some tensor of a cell.
std::set<std::string> leaders_of(const record::Report& report, const record::Cell& cell) {
  std::map<std::string, std::vector<const record::Measurement*>> rows;  // of each tensor
  for (const record::Measurement& m : report.measurements) {
    if (m.cell.over_all_tensors() == cell) rows[m.cell.tensor].push_back(&m);
  }
  std::set<std::string> leaders;
  for (const auto& [tensor, of_tensor] : rows) {
    const Ranking ranking = rank(of_tensor);
    if (ranking.fastest != nullptr) leaders.insert(ranking.fastest->variant);
    for (const record::Measurement* each : ranking.candidates) leaders.insert(each->variant);
  }
  return leaders;
}

// The variants that may have the shortest total: one where that is known, none where there is
// nothing to choose from.
std::vector<const record::VariantSummary*> fastest_of(const record::Report& report,
                                                      const CellSummary& cell) {
  std::vector<const record::VariantSummary*> timed;
  for (const record::VariantSummary& s : cell) {
    if (s.model_time_s && !s.reference_line) timed.push_back(&s);
  }
  if (timed.size() < 2) return {};
  const std::set<std::string> leaders = leaders_of(report, cell.front().cell);
  std::vector<const record::VariantSummary*> led;
  std::ranges::copy_if(timed, std::back_inserter(led), [&](const record::VariantSummary* s) {
    return leaders.contains(s->variant);
  });
  const auto is_in_doubt = [](const record::VariantSummary* s) { return s->in_doubt; };
  if (!led.empty() && std::ranges::any_of(led, is_in_doubt)) return led;
  return {*std::ranges::min_element(
      timed, {}, [](const record::VariantSummary* s) { return *s->model_time_s; })};
}

std::vector<text::Row> rows_of(const record::Report& report, const CellSummary& cell,
                               const text::Columns<Line>& columns, const Extent& extent) {
  const std::string& baseline = record::baseline_of(report.settings, cell.front().cell.operation);
  const std::vector<const record::VariantSummary*> fastest = fastest_of(report, cell);
  std::vector<text::Row> rows;
  for (const record::VariantSummary& s : cell) {
    text::Row row = text::row_of(columns, {s, rows.empty(), extent});
    if (s.variant == baseline) row.mark = kBaselineMark;
    if (s.reference_line) row.mark = kReferenceMark;
    if (s.cells < extent.geometries) row.tone = text::Tone::kFaint;
    if (s.cells == 0) row.message = "passed on none";
    if (std::ranges::find(fastest, &s) != fastest.end()) {
      row.mark = fastest.size() == 1 ? kFastestMark : kCandidateMark;
      row.tone = fastest.size() == 1 ? text::Tone::kGood : text::Tone::kDoubt;
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

// Without rows where the block of a single geometry says it all.
text::Section section_of(const record::Report& report, const Summary& summary,
                         const text::Columns<Line>& columns) {
  const record::Cell cell = summary.front().front().cell.over_all_tokens();
  const Extent extent = extent_of(report, cell);
  text::Section section = {
      .title = (cell_name(cell).insert(0, summary.front().front().cell.tokens > 0
                                              ? "A step of the model  "
                                              : "All tensors once  ")),
      .aside = fmt::format("{} of {} geometr{}", text::format_count(extent.tensors, "tensor"),
                           extent.geometries, extent.geometries == 1 ? "y" : "ies")};
  if (extent.tensors <= 1) return section;
  for (const CellSummary& each : summary) {
    for (text::Row& row : rows_of(report, each, columns, extent)) {
      section.rows.push_back(std::move(row));
    }
  }
  return section;
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

// The totals of whole models, in order of appearance.
std::vector<Summary> summaries_of(const record::Report& report, const Summaries& all) {
  std::vector<CellSummary> cells;
  for (const record::VariantSummary& s : all) {
    if (cells.empty() || cells.back().front().cell != s.cell) cells.emplace_back();
    cells.back().push_back(s);
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
  }
  return summaries;
}

}  // namespace

std::vector<text::Sheet> model_sheets(const record::Report& report, const Summaries& all) {
  std::vector<text::Sheet> sheets;
  std::string operation;
  for (const Summary& summary : summaries_of(report, all)) {
    const record::Cell& cell = summary.front().front().cell;
    const auto columns = model_columns(cell.tokens > 0);
    text::Section section = section_of(report, summary, columns);
    if (section.rows.empty()) continue;
    if (sheets.empty() || operation != cell.operation) {
      sheets.push_back(text::empty_sheet(columns));
      sheets.back().leading = 2;
      operation = cell.operation;
    }
    sheets.back().sections.push_back(std::move(section));
  }
  return sheets;
}

text::Sheet crossover_sheet(const record::Report& report) {
  text::Sheet sheet = {.columns = {{.name = "geometry", .most = 30}, {.name = "tokens"}}};
  record::Cell last;
  for (const Crossover& each : find_crossovers(report)) {
    if (each.stretches.size() == 1 && each.stretches.front().variant.empty()) continue;
    if (each.cell.over_all_tensors() != last) {
      last = each.cell.over_all_tensors();
      sheet.sections.push_back({.title = "Fastest by tokens  " + cell_name(last)});
    }
    const auto tensor =
        std::ranges::find(report.tensors, each.cell.tensor, &record::ReportTensor::id);
    text::Row row;
    row.cells = {tensor == report.tensors.end() ? each.cell.tensor
                                                : record::describe_shape(tensor->geometry),
                 text::Value()};
    row.message = stretches_text(each);
    sheet.sections.back().rows.push_back(std::move(row));
  }
  return sheet;
}

}  // namespace nf4bench::report
