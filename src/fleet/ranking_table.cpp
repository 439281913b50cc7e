#include "base/text.hpp"
#include "fleet/fleet_text.hpp"
#include "fleet/judged_text.hpp"
#include "report/table/parts.hpp"
#include "text/units.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace nf4bench::fleet {
namespace {

constexpr std::size_t kMostRows = 20;

text::Tone tone_of(UnitVerdict verdict) {
  switch (verdict) {
    case UnitVerdict::kFailed:
    case UnitVerdict::kSlow:
      return text::Tone::kBad;
    case UnitVerdict::kUnsure:
      return text::Tone::kDoubt;
    default:
      return text::Tone::kPlain;
  }
}

std::vector<text::GridColumn> unit_columns() {
  using text::Align;
  return {{"rank"},
          {"unit", Align::kLeft},
          {"host", Align::kLeft, 4},
          {"verdict", Align::kLeft},
          {"deviation"},
          {"z", Align::kRight, 3},
          {"memory", Align::kRight, 5},
          {"other", Align::kRight, 6},
          {"slow cells", Align::kRight, 2},
          {"clock", Align::kRight, 1},
          {"temp", Align::kRight, 7},
          {"power", Align::kRight, 9},
          {"throttled", Align::kRight, 8},
          {"cause", Align::kLeft}};
}

std::string verdict_text(UnitVerdict verdict) {
  return verdict == UnitVerdict::kNone ? "" : to_string(verdict);
}

text::GridRow unit_row(const Group& group, const UnitSummary& summary, std::size_t rank) {
  const Unit& unit = group.units[summary.unit];
  const bool is_measured = summary.cells > 0;
  text::GridRow row;
  row.tone = tone_of(summary.verdict);
  row.cells = {fmt::format("{}", rank),
               text::fitted(unit.id, 44),
               text::fitted(unit.host, 20),
               verdict_text(summary.verdict),
               is_measured ? log_percent(summary.deviation) : "",
               is_measured ? fmt::format("{:.1f}", summary.z) : "",
               log_percent(summary.memory_deviation),
               log_percent(summary.other_deviation),
               fmt::format("{}/{}", summary.slow_cells, summary.cells),
               log_percent(summary.clock_deviation),
               if_known(unit.temperature_c, "{:.0f} C"),
               if_known(unit.power_w, "{:.0f} W"),
               unit.throttled ? fmt::format("{:.0f} %", 100.0 * *unit.throttled) : "",
               summary.cause};
  return row;
}

void append_grid(report::TablePage& page, std::vector<text::GridColumn> columns,
                 const std::vector<text::GridRow>& rows) {
  const text::GridLayout layout = text::fit_columns(std::move(columns), rows, page.width());
  page.grid_header(layout);
  for (const text::GridRow& row : rows) page.grid_row(layout, row);
}

bool is_remarkable(UnitVerdict verdict) {
  return verdict != UnitVerdict::kOk && verdict != UnitVerdict::kNone;
}

void append_units(report::TablePage& page, const Group& group, const GroupAnalysis& analysis,
                  bool all) {
  std::vector<text::GridRow> rows;
  for (std::size_t i = 0; i < analysis.ranking.size(); ++i) {
    const UnitSummary& summary = analysis.ranking[i];
    if (all || i < kMostRows || is_remarkable(summary.verdict)) {
      rows.push_back(unit_row(group, summary, i + 1));
    }
  }
  const std::size_t hidden = analysis.ranking.size() - rows.size();
  append_grid(page, unit_columns(), rows);
  if (hidden > 0) {
    page.line(fmt::format("  and {} that are faster; --all shows them", hidden),
              text::Tone::kFaint);
  }
}

text::GridRow cell_row(const Group& group, std::size_t index, const CellSummary& cell) {
  const text::TimeScale scale = text::time_scale({cell.median_s});
  const auto extreme = [&](double time_s, std::size_t unit) {
    return fmt::format("{} {}", percent(time_s / cell.median_s - 1.0),
                       text::fitted(group.units[unit].id, 13));
  };
  text::GridRow row;
  row.cells = {text::fitted(group.cells[index].name, 70),
               to_string(group.cells[index].bound),
               fmt::format("{}", cell.units),
               text::format_time(cell.median_s, scale),
               fmt::format("{:.2f} %", 100.0 * cell.mad),
               fmt::format("{:.1f} %", 100.0 * (cell.highest_s / cell.lowest_s - 1.0)),
               extreme(cell.lowest_s, cell.lowest_unit),
               extreme(cell.highest_s, cell.highest_unit)};
  return row;
}

// The indices of the cells that a unit measured, those with the greatest spread first.
std::vector<std::size_t> ordered_cells(const GroupAnalysis& analysis) {
  std::vector<std::size_t> order(analysis.cells.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::erase_if(order, [&](std::size_t i) { return analysis.cells[i].units == 0; });
  const auto spread = [&](std::size_t i) {
    return analysis.cells[i].highest_s / analysis.cells[i].lowest_s;
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return spread(a) > spread(b); });
  return order;
}

void append_cells(report::TablePage& page, const Group& group, const GroupAnalysis& analysis,
                  bool all) {
  const std::vector<std::size_t> order = ordered_cells(analysis);
  const std::size_t shown = all ? order.size() : std::min(order.size(), kMostRows);
  std::vector<text::GridRow> rows;
  for (std::size_t i = 0; i < shown; ++i) {
    rows.push_back(cell_row(group, order[i], analysis.cells[order[i]]));
  }
  if (rows.empty()) return;
  page.blank();
  page.heading("Cells, those that differ most first", "");
  append_grid(page,
              {{"cell", text::Align::kLeft},
               {"bound", text::Align::kLeft, 5},
               {"units", text::Align::kRight, 3},
               {"median"},
               {"MAD", text::Align::kRight, 4},
               {"spread"},
               {"lowest", text::Align::kRight, 2},
               {"highest", text::Align::kRight, 1}},
              rows);
  if (order.size() > shown) {
    page.line(fmt::format("  and {} more; --all shows them", order.size() - shown),
              text::Tone::kFaint);
  }
}

void append_group(report::TablePage& page, const Group& group, const GroupAnalysis& analysis,
                  bool all) {
  page.heading(fmt::format("{}: {}, {}", text::fitted(device_of(group.facts), 50),
                           text::format_count(static_cast<long long>(group.units.size()), "unit"),
                           text::format_count(static_cast<long long>(group.cells.size()), "cell")),
               "");
  page.paragraph(escaped(facts_text(group.facts), 400), 0, text::Tone::kFaint);
  page.paragraph(rule_text(group, analysis), 0, text::Tone::kFaint);
  page.blank();
  append_units(page, group, analysis, all);
  append_cells(page, group, analysis, all);
  page.blank();
}

void append_left_out(report::TablePage& page, const char* what,
                     const std::vector<LeftOut>& reports) {
  for (std::size_t i = 0; i < std::min(reports.size(), kMostRows); ++i) {
    page.paragraph(
        fmt::format("{}: {}: {}", what, escaped(reports[i].report), printable(reports[i].reason)),
        2, text::Tone::kDoubt);
  }
  if (reports.size() > kMostRows) {
    page.line(fmt::format("{}: {} more", what, reports.size() - kMostRows), text::Tone::kDoubt);
  }
}

}  // namespace

std::string ranking_table(const JudgedFleet& judged, const report::TableStyle& style) {
  report::TablePage page(style);
  for (std::size_t i = 0; i < judged.analyses.size(); ++i) {
    append_group(page, judged.fleet.groups[i], judged.analyses[i], judged.all);
  }
  for (const std::string& name : judged.fleet.missing) {
    page.line(fmt::format("missing: {}", escaped(name)), text::Tone::kBad);
  }
  append_left_out(page, "refused", judged.fleet.refused);
  append_left_out(page, "replaced", judged.fleet.replaced);
  append_left_out(page, "not read", judged.fleet.unread);
  page.line(count_text(judged.analyses), text::Tone::kHeading);
  if (judged.gate != nullptr && judged.gate->code != ExitCode::kOk) {
    page.paragraph(fmt::format("gate: {}", fmt::join(judged.gate->reasons, ", ")), 2,
                   text::Tone::kBad);
  }
  return page.take();
}

}  // namespace nf4bench::fleet
