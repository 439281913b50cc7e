#include "fleet/fleet_text.hpp"
#include "fleet/json_parts.hpp"
#include "fleet/judged_text.hpp"
#include "report/tool.hpp"

#include <cmath>

namespace nf4bench::fleet {
namespace {

json::JsonText integer(std::size_t value) {
  return json::json_integer(static_cast<std::int64_t>(value));
}

// A logarithm as a change: 0.02 is 2 % slower.
json::JsonText relative(const std::optional<double>& log) {
  return log ? json::json_number(std::expm1(*log)) : json::json_null();
}

json::JsonText interval(const std::optional<statistics::Interval>& logs) {
  if (!logs) return json::json_null();
  const double ends[] = {std::expm1(logs->low), std::expm1(logs->high)};
  return json::json_numbers(ends);
}

json::JsonText cell_json(const Group& group, const CellSummary& cell, const FleetCell& facts) {
  const bool is_measured = cell.units > 0;
  const auto seconds = [&](double time_s) {
    return is_measured ? json::json_number(time_s) : json::json_null();
  };
  const auto unit = [&](std::size_t index) {
    return is_measured ? json::json_string(group.units[index].id) : json::json_null();
  };
  return json::json_object(
      {{"name", json::json_string(facts.name)},
       {"bound", json::json_string(to_string(facts.bound))},
       {"units", integer(cell.units)},
       {"median_s", seconds(cell.median_s)},
       {"mad", is_measured ? json::json_number(cell.mad) : json::json_null()},
       {"spread",
        is_measured ? json::json_number(cell.highest_s / cell.lowest_s - 1.0) : json::json_null()},
       {"lowest_s", seconds(cell.lowest_s)},
       {"lowest_unit", unit(cell.lowest_unit)},
       {"highest_s", seconds(cell.highest_s)},
       {"highest_unit", unit(cell.highest_unit)}});
}

// How much longer the unit takes in each cell than the median of the units; more digits would only
// fill the text.
json::JsonText deviations(const Group& group, const GroupAnalysis& analysis, std::size_t unit) {
  std::vector<json::JsonText> texts;
  texts.reserve(analysis.cells.size());
  for (std::size_t cell = 0; cell < analysis.cells.size(); ++cell) {
    const bool is_known =
        analysis.cells[cell].units > 1 && group.units[unit].values[cell].is_measured();
    const double relative = is_known ? std::expm1(deviation_of(group, analysis, unit, cell)) : 0.0;
    texts.push_back(is_known ? json::json_number(std::round(relative * 1e4) / 1e4)
                             : json::json_null());
  }
  return json::json_array(texts, json::JsonLayout::kOneLine);
}

json::JsonText unit_json(const Group& group, const GroupAnalysis& analysis,
                         const UnitSummary& summary, std::size_t rank) {
  const Unit& unit = group.units[summary.unit];
  const bool is_measured = summary.cells > 0;
  return json::json_object(
      {{"rank", integer(rank)},
       {"id", json::json_string(unit.id)},
       {"host", json::json_string(unit.host)},
       {"report", json::json_string(unit.report)},
       {"started_at", json::json_string(unit.started_at)},
       {"complete", json::json_bool(unit.complete)},
       {"failed", integer(unit.failed)},
       {"verdict", json::json_string(to_string(summary.verdict))},
       {"cause", json::json_string_or_null(summary.cause)},
       {"cells", integer(summary.cells)},
       {"slow_cells", integer(summary.slow_cells)},
       {"deviation", is_measured ? relative(summary.deviation) : json::json_null()},
       {"deviation_ci95", interval(summary.ci95)},
       {"z", json::json_number(summary.z)},
       {"memory_deviation", relative(summary.memory_deviation)},
       {"other_deviation", relative(summary.other_deviation)},
       {"clock_deviation", relative(summary.clock_deviation)},
       {"worst_cell",
        is_measured ? json::json_string(group.cells[summary.worst_cell].name) : json::json_null()},
       {"worst_deviation", is_measured ? relative(summary.worst_deviation) : json::json_null()},
       {"temperature_c", number_or_null(unit.temperature_c)},
       {"power_w", number_or_null(unit.power_w)},
       {"throttled", number_or_null(unit.throttled)},
       {"throttle_reasons", json::json_strings(unit.throttle_reasons)},
       {"other_processes", number_or_null(unit.other_processes)},
       {"deviations", deviations(group, analysis, summary.unit)}});
}

json::JsonText group_json(const Group& group, const GroupAnalysis& analysis) {
  std::vector<json::JsonText> units;
  for (const UnitSummary& summary : analysis.ranking) {
    units.push_back(unit_json(group, analysis, summary, units.size() + 1));
  }
  std::vector<json::JsonText> cells;
  for (std::size_t i = 0; i < analysis.cells.size(); ++i) {
    cells.push_back(cell_json(group, analysis.cells[i], group.cells[i]));
  }
  return json::json_object({{"facts", facts_json(group.facts)},
                            {"threshold", json::json_number(analysis.threshold)},
                            {"z_limit", json::json_number(analysis.z_limit)},
                            {"units", json::json_array(units)},
                            {"cells", json::json_array(cells)}});
}

json::JsonText gate_json(const FleetGate* gate) {
  if (gate == nullptr) return json::json_null();
  return json::json_object({{"passed", json::json_bool(gate->code == ExitCode::kOk)},
                            {"exit_code", json::json_integer(static_cast<int>(gate->code))},
                            {"reasons", json::json_strings(gate->reasons)}});
}

}  // namespace

std::string ranking_json(const JudgedFleet& judged) {
  std::vector<json::JsonText> groups;
  for (std::size_t i = 0; i < judged.analyses.size(); ++i) {
    groups.push_back(group_json(judged.fleet.groups[i], judged.analyses[i]));
  }
  return json::json_object({{"schema", json::json_string(kRankingSchema)},
                            {"schema_version", json::json_string(kRankingSchemaVersion)},
                            {"tool_version", json::json_string(report::tool_info().version)},
                            {"gate", gate_json(judged.gate)},
                            {"groups", json::json_array(groups)},
                            {"refused", left_out_json(judged.fleet.refused)},
                            {"replaced", left_out_json(judged.fleet.replaced)},
                            {"unread", left_out_json(judged.fleet.unread)},
                            {"missing", json::json_strings(judged.fleet.missing)}})
             .text +
         "\n";
}

}  // namespace nf4bench::fleet
