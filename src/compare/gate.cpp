#include "compare/gate.hpp"

#include "text/units.hpp"

#include <fmt/format.h>

#include <iterator>

namespace nf4bench::compare {
namespace {

void add_count(std::vector<std::string>& reasons, const ComparisonResult& result,
               CellVerdict verdict) {
  const std::int64_t count = result.count(verdict);
  if (count > 0) {
    reasons.push_back(fmt::format("{} {}", text::format_count(count, "cell"), to_string(verdict)));
  }
}

}  // namespace

GateDecision decide_gate(const ComparisonResult& result, Strictness strictness) {
  GateDecision decision;
  if (!result.is_comparable) {
    return {ExitCode::kNotComparable, {"the reports are not comparable"}};
  }
  decision.reasons = result.faults;
  if (result.measured() == 0) decision.reasons.emplace_back("no cell was measured on both sides");
  add_count(decision.reasons, result, CellVerdict::kInvalid);
  add_count(decision.reasons, result, CellVerdict::kMissing);
  add_count(decision.reasons, result, CellVerdict::kSlower);
  if (!decision.reasons.empty()) {
    decision.code = ExitCode::kGateFailed;
  } else if (result.count(CellVerdict::kUnsure) == std::ssize(result.cells)) {
    decision = {ExitCode::kInconclusive, {"no cell was decided"}};
  } else if (strictness == Strictness::kStrict && result.count(CellVerdict::kUnsure) > 0) {
    add_count(decision.reasons, result, CellVerdict::kUnsure);
    decision.code = ExitCode::kInconclusive;
  }
  return decision;
}

json::JsonText gate_json(const GateDecision* decision) {
  if (decision == nullptr) return json::json_null();
  return json::json_object({{"passed", json::json_bool(decision->code == ExitCode::kOk)},
                            {"exit_code", json::json_integer(static_cast<int>(decision->code))},
                            {"reasons", json::json_strings(decision->reasons)}});
}

}  // namespace nf4bench::compare
