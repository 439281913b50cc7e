#include "base/input_file.hpp"
#include "fleet/fleet.hpp"
#include "fleet/ranking_text.hpp"
#include "json/fields.hpp"
#include "json/json_stream.hpp"
#include "json/json_tree.hpp"
#include "report/host.hpp"
#include "report/report.hpp"
#include "text/printers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace nf4bench::fleet {
namespace {

template <class T>
json::JsonText field_json(const T& value) {
  return json::FieldWriter().text(value);
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
  document.add("facts", field_json(group.facts));
  document.add("kind", field_json(group.kind));
  document.begin_array("cells");
  for (const FleetCell& cell : group.cells) document.add(cell_json(cell));
  document.end();
  document.begin_array("units");
  for (const Unit& unit : group.units) document.add(field_json(unit));
  document.end();
  document.end();
}

json::JsonText group_json(const Group& group, const GroupAnalysis& analysis) {
  return json::json_object(
      {{"facts", field_json(group.facts)},
       {"threshold", analysis.threshold},
       {"z_limit", analysis.z_limit},
       {"units", text::json_rows(units_sheet(group, analysis, group.units.size()))},
       {"cells", text::json_rows(cells_sheet(group, analysis))}});
}

}  // namespace

UnitColumns columns_of(const std::vector<UnitValue>& values) {
  UnitColumns columns;
  for (const UnitValue& value : values) {
    columns.times.push_back(value.time_s);
    columns.log_errors.push_back(std::round(value.log_error * 1e6) / 1e6);
    columns.clocks.push_back(std::round(value.clock_hz));
  }
  return columns;
}

std::vector<UnitValue> values_of(const UnitColumns& columns) {
  std::vector<UnitValue> values(
      std::min({columns.times.size(), columns.log_errors.size(), columns.clocks.size()}));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = {columns.times[i], columns.log_errors[i], columns.clocks[i]};
  }
  return values;
}

void write_fleet(const Fleet& fleet, const json::TextSink& sink) {
  json::JsonStream document(sink);
  document.begin_object();
  document.add("schema", json::json_string(kFleetSchema));
  document.add("schema_version", json::json_string(kFleetSchemaVersion));
  document.add("tool_version", json::json_string(report::tool_info().version));
  document.begin_array("groups");
  for (const Group& group : fleet.groups) add_group(document, group);
  document.end();
  document.add("refused", field_json(fleet.refused));
  document.add("replaced", field_json(fleet.replaced));
  document.add("unread", field_json(fleet.unread));
  document.add("missing", field_json(fleet.missing));
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
                            {"refused", field_json(judged.fleet.refused)},
                            {"replaced", field_json(judged.fleet.replaced)},
                            {"unread", field_json(judged.fleet.unread)},
                            {"missing", judged.fleet.missing}})
             .text +
         "\n";
}

namespace {

// Refuses what contradicts itself, though each field is sound.
class Consistency {
 public:
  void operator()(const json::JsonNode& node, const FleetCell& cell) {
    if (!names_.insert(cell.name).second) node["name"].fail("is the name of an earlier cell, too");
  }
  void operator()(const json::JsonNode& node, const Unit& /*unit*/) const {
    for (const char* const column : {"time_s", "log_error", "clock_hz"}) {
      const std::size_t count = node[column].numbers(0.0).size();
      if (count == names_.size()) continue;
      node[column].fail(
          fmt::format("found {} numbers, wanted {}, one for each cell", count, names_.size()));
    }
  }
  void operator()(const json::JsonNode& /*node*/, const Group& /*group*/) { names_.clear(); }

 private:
  std::set<std::string> names_;  // of the cells of the group
};

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
  Consistency check;
  json::FieldReader(check).read(root, fleet);
  return fleet;
}

}  // namespace nf4bench::fleet
