#pragma once

#include "base/error.hpp"
#include "compare/compare_reports.hpp"
#include "json/json_text.hpp"
#include "report/report.hpp"

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

// Whether both hold one run: two never agree in every sample and in when they began.
bool is_same_run(const record::Report& a, const record::Report& b);

// Why reports are unfit for a gate, whatever their cells say: one sentence for each fault. Faults
// are unfinished runs, reports without a measurement, and a run that is given twice. The last
// happens when a failed job leaves an old file in place.
std::vector<std::string> find_report_faults(const std::vector<report::NamedReport>& base,
                                            const std::vector<report::NamedReport>& fresh);

// True when a cell is SLOWER or UNSURE: another run may settle it.
bool has_doubtful_cell(const ComparisonResult& result);

// Runs `command` once through the shell. It finds in NF4BENCH_CONFIRM_JSON the file that it is to
// write a report to, and in NF4BENCH_CONFIRM_VARIANTS the variants of the doubtful cells, separated
// by commas. What it prints goes to stderr. Throws Error(kInput) when it fails or writes no report.
report::NamedReport run_confirmation(const std::string& command, const ComparisonResult& result);

// Throws Error(kInput) for reports that are no baseline: unverified ones, and those with a row that
// failed, which has no time and would be UNSURE, not INVALID, in every gate to come.
void require_baselines(const std::vector<report::NamedReport>& reports);

}  // namespace nf4bench::compare
