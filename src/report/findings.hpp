#pragma once

#include "record/report.hpp"
#include "report/report.hpp"

#include <string>
#include <vector>

namespace nf4bench::report {

// What measuring each variant alone in a process of its own showed: a sentence for each cell whose
// time depends on what else was measured, or one that none does. Empty when that was not measured.
std::vector<std::string> company_findings(const record::Report& report);

// What limits each variant whose counters were read, a sentence each, and why those of others could
// not be; where that was so of all, a warning has said it.
std::vector<std::string> why_findings(const record::Report& report);

// What a reader of the times should know about clocks that were held down: at most one sentence on
// the cells in which many samples of a variant were throttled, and one on what the driver said.
std::vector<std::string> throttling_warnings(const record::Report& report);

// A sentence for each operation that has no speedups because its baseline could run nowhere.
std::vector<std::string> baseline_warnings(const record::Report& report);

// At most one sentence, on other processes that were on the GPU before the run or after it.
std::vector<std::string> sharing_warnings(const record::Report& report);

}  // namespace nf4bench::report
