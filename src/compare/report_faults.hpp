#pragma once

#include "report/named_report.hpp"

#include <string>
#include <vector>

namespace nf4bench::compare {

// What makes reports unfit for a gate whatever their cells say, a sentence each: unfinished runs,
// reports without a measurement, and one run given twice, as when an old file was left in place of
// the one that a failed job should have written.
std::vector<std::string> find_report_faults(const std::vector<report::NamedReport>& base,
                                            const std::vector<report::NamedReport>& fresh);

}  // namespace nf4bench::compare
