#include "fleet/fleet_text.hpp"
#include "fleet/json_parts.hpp"
#include "fleet/ranking_sheet.hpp"
#include "report/tool.hpp"
#include "text/printers.hpp"

namespace nf4bench::fleet {
namespace {

json::JsonText group_json(const Group& group, const GroupAnalysis& analysis) {
  return json::json_object(
      {{"facts", facts_json(group.facts)},
       {"threshold", json::json_number(analysis.threshold)},
       {"z_limit", json::json_number(analysis.z_limit)},
       {"units", text::json_rows(units_sheet(group, analysis, group.units.size()))},
       {"cells", text::json_rows(cells_sheet(group, analysis))}});
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
