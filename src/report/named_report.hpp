#pragma once

#include "report/report.hpp"

#include <string>

namespace nf4bench::report {

// A report and the file it came from.
struct NamedReport {
  std::string name;
  record::Report report;
};

}  // namespace nf4bench::report
