#pragma once

#include "report/named_report.hpp"

#include <string>
#include <vector>

namespace nf4bench::report {

// Reads the report in the regular file at `path`, see read_input(). Throws Error(kInput).
NamedReport read_report(const std::string& path);

std::vector<NamedReport> read_reports(const std::vector<std::string>& paths);

}  // namespace nf4bench::report
