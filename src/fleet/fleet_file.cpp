#include "fleet/fleet_file.hpp"

#include "base/input_file.hpp"
#include "fleet/ranking_text.hpp"
#include "json/json_tree.hpp"
#include "report/host.hpp"
#include "report/report.hpp"
#include "text/printers.hpp"

#include <fmt/format.h>

#include <cmath>
#include <set>

namespace nf4bench::fleet {
namespace {

json::JsonText number_or_null(const std::optional<double>& value) {
  return value ? json::json_number(*value) : json::json_null();
}

json::JsonText facts_json(const Facts& facts) {
  return json::json_array_of(
      facts,
      [](const auto& fact) {
        return json::json_object({{"name", fact.first}, {"value", fact.second}});
      },
      json::JsonLayout::kExpanded);
}

json::JsonText left_out_json(const std::vector<LeftOut>& reports) {
  return json::json_array_of(
      reports,
      [](const LeftOut& each) {
        return json::json_object({{"report", each.report}, {"reason", each.reason}});
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
      {{"id", unit.id},
       {"host", unit.host},
       {"report", unit.report},
       {"started_at", unit.started_at},
       {"complete", unit.complete},
       {"failed", unit.failed},
       {"failure", json::json_string_or_null(unit.failure)},
       {"temperature_c", number_or_null(unit.temperature_c)},
       {"power_w", number_or_null(unit.power_w)},
       {"power_limit_w", number_or_null(unit.power_limit_w)},
       {"throttled", number_or_null(unit.throttled)},
       {"throttle_reasons", unit.throttle_reasons},
       {"other_processes", number_or_null(unit.other_processes)},
       {"time_s", column_of(unit, [](const UnitValue& v) { return v.time_s; })},
       {"log_error",
        column_of(unit, [](const UnitValue& v) { return rounded_error(v.log_error); })},
       {"clock_hz", column_of(unit, [](const UnitValue& v) { return std::round(v.clock_hz); })}},
      json::JsonLayout::kExpanded);
}

json::JsonText cell_json(const FleetCell& cell) {
  text::Columns<FleetCell> columns = {
      {{.key = "name"}, &FleetCell::name},
      {{.key = "bound"}, [](const FleetCell& each) { return to_string(each.bound); }}};
  const text::Columns<FleetCell> key = compare::key_columns_of<FleetCell>();
  columns.insert(columns.end(), key.begin(), key.end());
  return text::json_row({columns.begin(), columns.end()}, text::row_of(columns, cell),
                        json::JsonLayout::kOneLine);
}

void add_group(json::JsonStream& document, const Group& group) {
  document.begin_object();
  document.add("facts", facts_json(group.facts));
  document.add("kind", json::json_string(to_string(group.kind)));
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
       {"threshold", analysis.threshold},
       {"z_limit", analysis.z_limit},
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
  return json::json_object({{"schema", kRankingSchema},
                            {"schema_version", kRankingSchemaVersion},
                            {"tool_version", report::tool_info().version},
                            {"gate", compare::gate_json(judged.gate)},
                            {"groups", json::json_array(groups)},
                            {"refused", left_out_json(judged.fleet.refused)},
                            {"replaced", left_out_json(judged.fleet.replaced)},
                            {"unread", left_out_json(judged.fleet.unread)},
                            {"missing", judged.fleet.missing}})
             .text +
         "\n";
}

namespace {

FleetCell read_cell(const json::JsonNode& node) {
  FleetCell cell;
  cell.name = node["name"].string();
  const std::string word = node["bound"].string();
  for (const Bound bound : kWords<Bound>) {
    if (word == to_string(bound)) cell.bound = bound;
  }
  return cell;
}

std::vector<double> read_column(const json::JsonNode& node, std::size_t cells) {
  std::vector<double> column = node.numbers(0.0);
  if (column.size() != cells) {
    node.fail(fmt::format("found {} numbers, wanted {}, one for each cell", column.size(), cells));
  }
  return column;
}

std::vector<UnitValue> read_values(const json::JsonNode& node, std::size_t cells) {
  const std::vector<double> times = read_column(node["time_s"], cells);
  const std::vector<double> errors = read_column(node["log_error"], cells);
  const std::vector<double> clocks = read_column(node["clock_hz"], cells);
  std::vector<UnitValue> values(cells);
  for (std::size_t i = 0; i < cells; ++i) values[i] = {times[i], errors[i], clocks[i]};
  return values;
}

Unit read_unit(const json::JsonNode& node, std::size_t cells) {
  constexpr double kAny = -1e300;  // temperatures may be below zero
  Unit unit;
  unit.id = node["id"].string();
  unit.host = node["host"].string();
  unit.report = node["report"].string();
  unit.started_at = node["started_at"].string();
  unit.complete = node["complete"].boolean();
  unit.failed = static_cast<std::size_t>(node["failed"].count());
  if (node.has("failure")) unit.failure = node["failure"].string_or_empty();
  unit.temperature_c = node["temperature_c"].optional_number(kAny);
  unit.power_w = node["power_w"].optional_number(0.0);
  unit.power_limit_w = node["power_limit_w"].optional_number(0.0);
  unit.throttled = node["throttled"].optional_number(0.0);
  unit.throttle_reasons = node["throttle_reasons"].strings();
  if (node.has("other_processes")) {
    unit.other_processes = node["other_processes"].optional_small_count();
  }
  unit.values = read_values(node, cells);
  return unit;
}

Group read_group(const json::JsonNode& node) {
  Group group;
  const json::JsonNode kind = node["kind"];
  const std::string word = kind.string();
  if (word != "cuda" && word != "cpu") kind.refuse("cuda or cpu");
  group.kind = word == "cuda" ? record::DeviceKind::kCuda : record::DeviceKind::kCpu;
  node["facts"].each([&](const json::JsonNode& fact) {
    group.facts.emplace_back(fact["name"].string(), fact["value"].string());
  });
  std::set<std::string> names;
  node["cells"].each([&](const json::JsonNode& cell) {
    group.cells.push_back(read_cell(cell));
    if (!names.insert(group.cells.back().name).second) {
      cell["name"].fail("is the name of an earlier cell, too");
    }
  });
  node["units"].each([&](const json::JsonNode& unit) {
    group.units.push_back(read_unit(unit, group.cells.size()));
  });
  return group;
}

std::vector<LeftOut> read_left_out(const json::JsonNode& node) {
  std::vector<LeftOut> reports;
  node.each([&](const json::JsonNode& each) {
    reports.push_back({each["report"].string(), each["reason"].string()});
  });
  return reports;
}

void check_schema(const json::JsonNode& root) {
  const json::JsonNode schema = root["schema"];
  if (schema.string() != kFleetSchema) {
    schema.refuse(fmt::format("\"{}\", as \"nf4bench merge\" writes it", kFleetSchema));
  }
  const json::JsonNode version = root["schema_version"];
  if (!version.string().starts_with("1.")) {
    version.refuse("1.x: this program does not read fleets of another major version");
  }
}

}  // namespace

Fleet read_fleet(const std::string& path) {
  std::string text = read_input(path, report::kMostReportBytes);
  const json::JsonTree tree = json::parse_json(text, path);
  std::string().swap(text);  // the tree has it all
  const json::JsonNode root(tree, path);
  check_schema(root);
  Fleet fleet;
  root["groups"].each(
      [&](const json::JsonNode& group) { fleet.groups.push_back(read_group(group)); });
  fleet.refused = read_left_out(root["refused"]);
  fleet.replaced = read_left_out(root["replaced"]);
  fleet.unread = read_left_out(root["unread"]);
  fleet.missing = root["missing"].strings();
  return fleet;
}

}  // namespace nf4bench::fleet
