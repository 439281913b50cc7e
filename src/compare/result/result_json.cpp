#include "compare/result/change_text.hpp"
#include "compare/result/result_sheet.hpp"
#include "compare/result/result_text.hpp"
#include "text/printers.hpp"

namespace nf4bench::compare {
namespace {

json::JsonText label_json(const ReportLabel& label) {
  return json::json_object({{"name", json::json_string(label.name)},
                            {"started_at", json::json_string_or_null(label.started_at)},
                            {"git_commit", json::json_string_or_null(label.git_commit)}});
}

json::JsonText difference_json(const Difference& difference) {
  return json::json_object({{"name", json::json_string(difference.name)},
                            {"base", json::json_strings(difference.base)},
                            {"new", json::json_strings(difference.fresh)},
                            {"matters", json::json_bool(difference.matters)},
                            {"allowed", json::json_bool(difference.allowed)}});
}

json::JsonText counts_json(const ComparisonResult& result) {
  std::vector<json::JsonMember> members;
  for (const CellVerdict verdict : kCellVerdicts) {
    members.push_back({to_string(verdict), json::json_integer(result.count(verdict))});
  }
  members.push_back({"measured", json::json_integer(result.measured())});
  return json::json_object(members);
}

json::JsonText gate_json(const GateDecision* decision) {
  if (decision == nullptr) return json::json_null();
  return json::json_object({{"passed", json::json_bool(decision->code == ExitCode::kOk)},
                            {"exit_code", json::json_integer(static_cast<int>(decision->code))},
                            {"reasons", json::json_strings(decision->reasons)}});
}

}  // namespace

std::string comparison_json(const ComparisonResult& result, const GateDecision* decision) {
  const json::JsonText noise =
      json::json_object({{"relative", json::json_number(result.noise.relative)},
                         {"origin", json::json_string(result.noise.origin)}});
  const json::JsonText shift =
      result.median_log_change
          ? json::json_number(shown_change(*result.median_log_change, result.metric))
          : json::json_null();
  return json::json_object(
             {{"schema", json::json_string(kComparisonSchema)},
              {"schema_version", json::json_string(kComparisonSchemaVersion)},
              {"metric", json::json_string(to_string(result.metric))},
              {"threshold", json::json_number(result.threshold)},
              {"run_noise", noise},
              {"confidence", json::json_number(1.0 - kFamilyError)},
              {"device", json::json_string(result.device)},
              {"base", json::json_array_of(result.base, label_json)},
              {"new", json::json_array_of(result.fresh, label_json)},
              {"comparable", json::json_bool(result.is_comparable)},
              {"differences", json::json_array_of(result.differences, difference_json)},
              {"faults", json::json_strings(result.faults)},
              {"counts", counts_json(result)},
              {"median_change", shift},
              {"gate", gate_json(decision)},
              {"cells", text::json_rows(cells_sheet(result))},
              {"new_cells", text::json_rows(text::sheet_of(key_columns(), result.new_cells))}})
             .text +
         "\n";
}

}  // namespace nf4bench::compare
