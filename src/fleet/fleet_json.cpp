#include "fleet/fleet_file.hpp"
#include "fleet/ranking_sheet.hpp"
#include "fleet/ranking_text.hpp"
#include "report/tool.hpp"
#include "text/printers.hpp"

#include <fmt/format.h>

#include <cmath>

namespace nf4bench::fleet {
namespace {

json::JsonText number_or_null(const std::optional<double>& value) {
  return value ? json::json_number(*value) : json::json_null();
}

json::JsonText facts_json(const Facts& facts) {
  return json::json_array_of(
      facts,
      [](const auto& fact) {
        return json::json_object(
            {{"name", json::json_string(fact.first)}, {"value", json::json_string(fact.second)}});
      },
      json::JsonLayout::kExpanded);
}

json::JsonText left_out_json(const std::vector<LeftOut>& reports) {
  return json::json_array_of(
      reports,
      [](const LeftOut& each) {
        return json::json_object({{"report", json::json_string(each.report)},
                                  {"reason", json::json_string(each.reason)}});
      },
      json::JsonLayout::kExpanded);
}

template <typename Function>
json::JsonText column_of(const Unit& unit, Function&& to_number) {
  std::vector<double> numbers;
  numbers.reserve(unit.values.size());
  for (const UnitValue& value : unit.values) numbers.push_back(to_number(value));
  return json::json_numbers(numbers);
}

// An error of an error: more digits would only fill the file.
double rounded_error(double log_error) {
  return std::round(log_error * 1e6) / 1e6;
}

json::JsonText unit_json(const Unit& unit) {
  return json::json_object(
      {{"id", json::json_string(unit.id)},
       {"host", json::json_string(unit.host)},
       {"report", json::json_string(unit.report)},
       {"started_at", json::json_string(unit.started_at)},
       {"complete", json::json_bool(unit.complete)},
       {"failed", json::json_integer(static_cast<std::int64_t>(unit.failed))},
       {"failure", json::json_string_or_null(unit.failure)},
       {"temperature_c", number_or_null(unit.temperature_c)},
       {"power_w", number_or_null(unit.power_w)},
       {"power_limit_w", number_or_null(unit.power_limit_w)},
       {"throttled", number_or_null(unit.throttled)},
       {"throttle_reasons", json::json_strings(unit.throttle_reasons)},
       {"other_processes", number_or_null(unit.other_processes)},
       {"time_s", column_of(unit, [](const UnitValue& v) { return v.time_s; })},
       {"log_error",
        column_of(unit, [](const UnitValue& v) { return rounded_error(v.log_error); })},
       {"clock_hz", column_of(unit, [](const UnitValue& v) { return std::round(v.clock_hz); })}},
      json::JsonLayout::kExpanded);
}

json::JsonText cell_json(const FleetCell& cell) {
  text::Columns<FleetCell> columns = {
      {{.key = "name"}, [](const FleetCell& each) { return each.name; }},
      {{.key = "bound"}, [](const FleetCell& each) { return to_string(each.bound); }}};
  const text::Columns<FleetCell> key = compare::key_columns_of<FleetCell>();
  columns.insert(columns.end(), key.begin(), key.end());
  return text::json_row({columns.begin(), columns.end()}, text::row_of(columns, cell),
                        json::JsonLayout::kOneLine);
}

void add_group(json::JsonStream& document, const Group& group) {
  document.begin_object();
  document.add("facts", facts_json(group.facts));
  document.add("kind", json::json_string(group.kind == record::DeviceKind::kCuda ? "cuda" : "cpu"));
  document.begin_array("cells");
  for (const FleetCell& cell : group.cells) document.add(cell_json(cell));
  document.end();
  document.begin_array("units");
  for (const Unit& unit : group.units) document.add(unit_json(unit));
  document.end();
  document.end();
}

json::JsonText group_json(const Group& group, const GroupAnalysis& analysis) {
  return json::json_object(
      {{"facts", facts_json(group.facts)},
       {"threshold", json::json_number(analysis.threshold)},
       {"z_limit", json::json_number(analysis.z_limit)},
       {"units", text::json_rows(units_sheet(group, analysis, group.units.size()))},
       {"cells", text::json_rows(cells_sheet(group, analysis))}});
}

}  // namespace

void write_fleet(const Fleet& fleet, const json::TextSink& sink) {
  json::JsonStream document(sink);
  document.begin_object();
  document.add("schema", json::json_string(kFleetSchema));
  document.add("schema_version", json::json_string(kFleetSchemaVersion));
  document.add("tool_version", json::json_string(report::tool_info().version));
  document.begin_array("groups");
  for (const Group& group : fleet.groups) add_group(document, group);
  document.end();
  document.add("refused", left_out_json(fleet.refused));
  document.add("replaced", left_out_json(fleet.replaced));
  document.add("unread", left_out_json(fleet.unread));
  document.add("missing", json::json_strings(fleet.missing));
  document.end();
  document.finish();
}

bool begins_as_fleet(std::string_view beginning) {
  return beginning.starts_with(
      fmt::format("{{\n  \"schema\": \"{}\",", std::string_view(kFleetSchema)));
}

std::string ranking_json(const JudgedFleet& judged) {
  std::vector<json::JsonText> groups;
  for (std::size_t i = 0; i < judged.analyses.size(); ++i) {
    groups.push_back(group_json(judged.fleet.groups[i], judged.analyses[i]));
  }
  return json::json_object({{"schema", json::json_string(kRankingSchema)},
                            {"schema_version", json::json_string(kRankingSchemaVersion)},
                            {"tool_version", json::json_string(report::tool_info().version)},
                            {"gate", compare::gate_json(judged.gate)},
                            {"groups", json::json_array(groups)},
                            {"refused", left_out_json(judged.fleet.refused)},
                            {"replaced", left_out_json(judged.fleet.replaced)},
                            {"unread", left_out_json(judged.fleet.unread)},
                            {"missing", json::json_strings(judged.fleet.missing)}})
             .text +
         "\n";
}

}  // namespace nf4bench::fleet
