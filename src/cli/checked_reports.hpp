#pragma once

#include "check/check.hpp"
#include "report/report.hpp"

#include <string>
#include <vector>

namespace nf4bench::cli {

struct CheckedReports {
  std::vector<report::NamedReport> reports;  // that could be read
  std::vector<check::Checked> checked;       // those that could not, then each of `reports`
};

// All reports in `inputs`, files and folders, and what speaks against each. A folder may hold other
// JSON, too, which stderr names. What cannot be opened is thrown, and so is that there is no
// report.
CheckedReports read_and_check(const std::vector<std::string>& inputs);

}  // namespace nf4bench::cli
