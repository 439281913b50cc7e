#pragma once

#include "report/report_input.hpp"

#include <string>
#include <vector>

namespace nf4bench::compare {

// Whether both hold one run: two never agree in every sample and in when they began.
bool is_same_run(const record::Report& a, const record::Report& b);

// Why reports are unfit for a gate, whatever their cells say: one sentence for each fault. Faults
// are unfinished runs, reports without a measurement, and a run that is given twice. The last
// happens when a failed job leaves an old file in place.
std::vector<std::string> find_report_faults(const std::vector<report::NamedReport>& base,
                                            const std::vector<report::NamedReport>& fresh);

}  // namespace nf4bench::compare
