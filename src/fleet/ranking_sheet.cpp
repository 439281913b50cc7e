#include "fleet/ranking_text.hpp"
#include "text/layout.hpp"
#include "text/units.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>

namespace nf4bench::fleet {
namespace {

using text::Unit;
using text::Value;

// A unit of a group and its place in the ranking.
struct UnitLine {
  const Group& group;
  const GroupAnalysis& analysis;
  const UnitSummary& summary;
  std::size_t rank;

  const fleet::Unit& unit() const { return group.units[summary.unit]; }
  bool is_measured() const { return summary.cells > 0; }
};

// A cell of a group.
struct CellLine {
  const Group& group;
  const FleetCell& cell;
  const CellSummary& summary;
  double unit_s = 0.0;  // of the unit that the table is about
};

Value interval_of(const UnitLine& line) {
  if (!line.summary.ci95) return {};
  return statistics::Interval{std::expm1(line.summary.ci95->low),
                              std::expm1(line.summary.ci95->high)};
}

// How much longer the unit takes in each cell than the median of the units; more digits would only
// fill the text.
Value deviations_of(const UnitLine& line) {
  std::vector<json::JsonText> texts;
  texts.reserve(line.analysis.cells.size());
  for (std::size_t cell = 0; cell < line.analysis.cells.size(); ++cell) {
    const bool is_known =
        line.analysis.cells[cell].units > 1 && line.unit().values[cell].is_measured();
    const double change =
        is_known ? std::expm1(deviation_of(line.group, line.analysis, line.summary.unit, cell))
                 : 0.0;
    texts.push_back(is_known ? json::json_number(std::round(change * 1e4) / 1e4)
                             : json::json_null());
  }
  return json::json_array(texts, json::JsonLayout::kOneLine);
}

// What is known of a unit that shares cells with others only.
template <typename Function>
auto measured(Function function) {
  return [function](const UnitLine& line) {
    return line.is_measured() ? Value(function(line)) : Value();
  };
}

text::Columns<UnitLine> name_columns() {
  using Line = UnitLine;
  return {{{.name = "rank", .key = "rank"}, &Line::rank},
          {{.name = "unit", .key = "id", .most = 44, .least = 18, .cut = text::Cut::kMiddle},
           [](const Line& line) { return line.unit().id; }},
          {{.name = "host", .rank = 2, .key = "host", .most = 20},
           [](const Line& line) { return line.unit().host; }},
          {{.key = "report"}, [](const Line& line) { return line.unit().report; }},
          {{.key = "started_at"}, [](const Line& line) { return line.unit().started_at; }},
          {{.key = "complete"}, [](const Line& line) { return line.unit().complete; }},
          {{.key = "failed"}, [](const Line& line) { return line.unit().failed; }},
          {{.key = "failure"}, [](const Line& line) { return text::if_said(line.unit().failure); }},
          {{.key = "verdict"}, [](const Line& line) { return to_string(line.summary.verdict); }},
          {{.name = "verdict"},
           [](const Line& line) {
             return line.summary.verdict == UnitVerdict::kNone ? ""
                                                               : to_string(line.summary.verdict);
           }},
          {{.key = "cause"}, [](const Line& line) { return text::if_said(line.summary.cause); }}};
}

text::Columns<UnitLine> deviation_columns() {
  using Line = UnitLine;
  return {{{.key = "cells"}, [](const Line& line) { return line.summary.cells; }},
          {{.key = "missing_cells"}, [](const Line& line) { return line.summary.missing.size(); }},
          {{.key = "slow_cells"}, [](const Line& line) { return line.summary.slow_cells; }},
          {{.name = "deviation", .unit = Unit::kChange, .key = "deviation"},
           measured([](const Line& line) { return relative(line.summary.deviation); })},
          {{.key = "deviation_ci95"}, interval_of},
          {{.key = "z"}, [](const Line& line) { return line.summary.z; }},
          {{.name = "z", .unit = Unit::kScore, .rank = 4},
           measured([](const Line& line) { return line.summary.z; })},
          {{.name = "memory", .unit = Unit::kChange, .rank = 5, .key = "memory_deviation"},
           [](const Line& line) { return relative(line.summary.memory_deviation); }},
          {{.name = "other", .unit = Unit::kChange, .rank = 6, .key = "other_deviation"},
           [](const Line& line) { return relative(line.summary.other_deviation); }},
          {{.name = "slow cells", .rank = 3},
           [](const Line& line) {
             return fmt::format("{}/{}", line.summary.slow_cells, line.summary.cells);
           }},
          {{.name = "clock", .unit = Unit::kChange, .rank = 1, .key = "clock_deviation"},
           [](const Line& line) { return relative(line.summary.clock_deviation); }},
          {{.key = "worst_cell"}, measured([](const Line& line) {
             return line.group.cells[line.summary.worst_cell].name;
           })},
          {{.key = "worst_deviation"},
           measured([](const Line& line) { return relative(line.summary.worst_deviation); })}};
}

text::Columns<UnitLine> state_columns() {
  using Line = UnitLine;
  return {
      {{.name = "temp", .unit = Unit::kCelsius, .rank = 7, .key = "temperature_c"},
       [](const Line& line) { return line.unit().temperature_c; }},
      {{.name = "power", .unit = Unit::kWatts, .rank = 9, .key = "power_w"},
       [](const Line& line) { return line.unit().power_w; }},
      {{.name = "throttled", .unit = Unit::kFraction, .rank = 8, .key = "throttled"},
       [](const Line& line) { return line.unit().throttled; }},
      {{.key = "throttle_reasons"}, [](const Line& line) { return line.unit().throttle_reasons; }},
      {{.key = "other_processes"}, [](const Line& line) { return line.unit().other_processes; }},
      {{.key = "deviations"}, deviations_of},
      {{.name = "cause"}, [](const Line& line) { return line.summary.cause; }}};
}

text::Columns<UnitLine> unit_columns() {
  text::Columns<UnitLine> all = name_columns();
  for (const text::Columns<UnitLine>& more : {deviation_columns(), state_columns()}) {
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

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

// Why a unit failed, and what it did not measure.
std::string why_of(const Group& group, const UnitSummary& summary) {
  const fleet::Unit& unit = group.units[summary.unit];
  std::vector<std::string> reasons;
  if (!unit.complete) reasons.emplace_back("its run did not end");
  if (unit.failed > 0) {
    reasons.push_back(fmt::format(
        "{} wrong or impossible, the first {}",
        text::format_count(static_cast<long long>(unit.failed), "measurement"), unit.failure));
  }
  if (!summary.missing.empty()) {
    reasons.push_back(fmt::format("lacks {} that most have, the first {}",
                                  text::format_count(std::ssize(summary.missing), "cell"),
                                  group.cells[summary.missing.front()].name));
  }
  return fmt::format("{}", fmt::join(reasons, "; "));
}

bool is_remarkable(UnitVerdict verdict) {
  return tone_of(verdict) != text::Tone::kPlain;
}

// What is known of a cell that a unit measured only.
template <typename Function>
auto if_measured(Function function) {
  return [function](const CellLine& line) {
    return line.summary.units > 0 ? Value(function(line)) : Value();
  };
}

// "-1.2 % GPU-6f1c3c52-"
std::string extreme_of(const CellLine& line, double time_s, std::size_t unit) {
  return fmt::format("{} {}", text::format_change(time_s / line.summary.median_s - 1.0),
                     text::fitted(line.group.units[unit].id, 13));
}

text::Columns<CellLine> cell_columns() {
  using Line = CellLine;
  const auto id = [](const Line& line, std::size_t unit) { return line.group.units[unit].id; };
  return {
      {{.name = "cell", .key = "name", .most = 70},
       [](const Line& line) { return line.cell.name; }},
      {{.name = "bound", .rank = 5, .key = "bound"},
       [](const Line& line) { return to_string(line.cell.bound); }},
      {{.name = "units", .rank = 3, .key = "units"},
       [](const Line& line) { return line.summary.units; }},
      {{.name = "median", .unit = Unit::kSeconds, .key = "median_s"},
       if_measured([](const Line& line) { return line.summary.median_s; })},
      {{.name = "MAD", .unit = Unit::kSpread, .rank = 4, .key = "mad"},
       if_measured([](const Line& line) { return line.summary.mad; })},
      {{.name = "spread", .unit = Unit::kFraction, .key = "spread"},
       if_measured(
           [](const Line& line) { return line.summary.highest_s / line.summary.lowest_s - 1.0; })},
      {{.key = "lowest_s"}, if_measured([](const Line& line) { return line.summary.lowest_s; })},
      {{.key = "lowest_unit"},
       if_measured([id](const Line& line) { return id(line, line.summary.lowest_unit); })},
      {{.key = "highest_s"}, if_measured([](const Line& line) { return line.summary.highest_s; })},
      {{.key = "highest_unit"},
       if_measured([id](const Line& line) { return id(line, line.summary.highest_unit); })},
      {{.name = "lowest", .rank = 2}, if_measured([](const Line& line) {
         return extreme_of(line, line.summary.lowest_s, line.summary.lowest_unit);
       })},
      {{.name = "highest", .rank = 1}, if_measured([](const Line& line) {
         return extreme_of(line, line.summary.highest_s, line.summary.highest_unit);
       })}};
}

text::Columns<CellLine> own_cell_columns() {
  using Line = CellLine;
  return {{{.name = "cell"}, [](const Line& line) { return line.cell.name; }},
          {{.name = "bound"}, [](const Line& line) { return to_string(line.cell.bound); }},
          {{.name = "this GPU", .unit = Unit::kSeconds}, &Line::unit_s},
          {{.name = "median", .unit = Unit::kSeconds},
           [](const Line& line) { return line.summary.median_s; }},
          {{.name = "deviation", .unit = Unit::kChange},
           [](const Line& line) { return line.unit_s / line.summary.median_s - 1.0; }},
          {{.name = "lowest", .unit = Unit::kSeconds},
           [](const Line& line) { return line.summary.lowest_s; }},
          {{.name = "highest", .unit = Unit::kSeconds},
           [](const Line& line) { return line.summary.highest_s; }}};
}

}  // namespace

text::Sheet units_sheet(const Group& group, const GroupAnalysis& analysis, std::size_t most) {
  const text::Columns<UnitLine> columns = unit_columns();
  text::Sheet sheet = text::empty_sheet(columns);
  text::Section& section = sheet.sections.emplace_back();
  for (std::size_t i = 0; i < analysis.ranking.size(); ++i) {
    const UnitSummary& summary = analysis.ranking[i];
    if (i >= most && !is_remarkable(summary.verdict) && summary.missing.empty()) continue;
    section.rows.push_back(text::row_of(columns, {group, analysis, summary, i + 1}));
    section.rows.back().tone = tone_of(summary.verdict);
    section.rows.back().why = why_of(group, summary);
  }
  return sheet;
}

text::Sheet cells_sheet(const Group& group, const GroupAnalysis& analysis) {
  const text::Columns<CellLine> columns = cell_columns();
  text::Sheet sheet = text::empty_sheet(columns);
  text::Section& section = sheet.sections.emplace_back();
  for (std::size_t i = 0; i < analysis.cells.size(); ++i) {
    section.rows.push_back(text::row_of(columns, {group, group.cells[i], analysis.cells[i]}));
  }
  return sheet;
}

text::Sheet spread_sheet(const Group& group, const GroupAnalysis& analysis, std::size_t most) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < analysis.cells.size(); ++i) {
    if (analysis.cells[i].units > 0) order.push_back(i);
  }
  std::ranges::stable_sort(order, std::greater(), [&](std::size_t i) {
    return analysis.cells[i].highest_s / analysis.cells[i].lowest_s;
  });
  const text::Columns<CellLine> columns = cell_columns();
  text::Sheet sheet = text::empty_sheet(columns);
  text::Section& section = sheet.sections.emplace_back();
  section.title = "Cells, those that differ most first";
  for (std::size_t i = 0; i < std::min(order.size(), most); ++i) {
    const std::size_t cell = order[i];
    section.rows.push_back(text::row_of(columns, {group, group.cells[cell], analysis.cells[cell]}));
  }
  return sheet;
}

text::Sheet unit_cells_sheet(const Group& group, const GroupAnalysis& analysis, std::size_t unit,
                             std::size_t most) {
  std::vector<std::size_t> order;
  for (std::size_t cell = 0; cell < group.cells.size(); ++cell) {
    if (group.units[unit].values[cell].is_measured() && analysis.cells[cell].units > 1) {
      order.push_back(cell);
    }
  }
  std::ranges::stable_sort(order, std::greater(), [&](std::size_t cell) {
    return deviation_of(group, analysis, unit, cell);
  });
  const text::Columns<CellLine> columns = own_cell_columns();
  text::Sheet sheet = text::empty_sheet(columns);
  text::Section& section = sheet.sections.emplace_back();
  for (std::size_t i = 0; i < std::min(order.size(), most); ++i) {
    const std::size_t cell = order[i];
    section.rows.push_back(text::row_of(columns, {group, group.cells[cell], analysis.cells[cell],
                                                  group.units[unit].values[cell].time_s}));
  }
  return sheet;
}

}  // namespace nf4bench::fleet
