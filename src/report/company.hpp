#pragma once

#include "record/report.hpp"

#include <string>
#include <vector>

namespace nf4bench::report {

// What measuring each variant alone in a process of its own showed: a sentence for each cell whose
// time depends on what else was measured, or one that none does. Empty when that was not measured.
std::vector<std::string> company_findings(const record::Report& report);

}  // namespace nf4bench::report
