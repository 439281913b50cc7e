#pragma once

#include "base/error.hpp"
#include "compare/compare_reports.hpp"
#include "json/json_text.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace nf4bench::compare {

enum class Strictness : std::uint8_t {
  kLenient,  // UNSURE passes beside a cell that is decided
  kStrict,   // UNSURE is inconclusive
};

// What a CI job is to do about a comparison, or a fleet.
struct GateDecision {
  ExitCode code = ExitCode::kOk;
  std::vector<std::string> reasons;  // why it is not kOk
};

// Passes only what was measured: SLOWER, MISSING and INVALID cells, faulty reports and comparisons
// without a cell fail. Where all cells are UNSURE it is inconclusive.
GateDecision decide_gate(const ComparisonResult& result, Strictness strictness);

// The decision for programs; null where no gate was asked for.
json::JsonText gate_json(const GateDecision* decision);

}  // namespace nf4bench::compare
