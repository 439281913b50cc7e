#pragma once

#include "compare/compare_reports.hpp"

#include <string>

namespace nf4bench::compare {

// True when a cell is SLOWER or UNSURE: another run may settle it.
bool has_doubtful_cell(const ComparisonResult& result);

// Runs `command` once through the shell. It finds in NF4BENCH_CONFIRM_JSON the file that it is to
// write a report to, and in NF4BENCH_CONFIRM_VARIANTS the variants of the doubtful cells, separated
// by commas. What it prints goes to stderr. Throws Error(kInput) when it fails or writes no report.
report::NamedReport run_confirmation(const std::string& command, const ComparisonResult& result);

}  // namespace nf4bench::compare
