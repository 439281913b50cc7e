#pragma once

#include <string>

#include "report/report.hpp"

namespace nf4bench {

// A report and the file it came from.
struct NamedReport {
  std::string name;
  Report report;
};

}  // namespace nf4bench
