#pragma once

#include "report/report.hpp"

#include <string>
#include <vector>

namespace nf4bench::report {

// A report and the file it came from.
struct NamedReport {
  std::string name;
  record::Report report;
};

// Reads the report in the regular file at `path`, see read_input(). Throws Error(kInput).
NamedReport read_report(const std::string& path);

std::vector<NamedReport> read_reports(const std::vector<std::string>& paths);

}  // namespace nf4bench::report
