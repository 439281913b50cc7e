#include "base/input_file.hpp"
#include "fleet/fleet_file.hpp"
#include "json/json_tree.hpp"
#include "report/report.hpp"

#include <fmt/format.h>

#include <set>

namespace nf4bench::fleet {
namespace {

FleetCell read_cell(const json::JsonNode& node) {
  FleetCell cell;
  cell.name = node["name"].string();
  const std::string word = node["bound"].string();
  for (const Bound bound : kBounds) {
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
