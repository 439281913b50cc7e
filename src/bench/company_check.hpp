#pragma once

#include "record/report.hpp"
#include "record/run_options.hpp"

#include <atomic>
#include <functional>
#include <string>
#include <vector>

namespace nf4bench::bench {

// A variant of an operation.
struct CompanyMember {
  std::string operation;
  std::string variant;
};

// What the check works with. Borrowed.
struct CompanyCheck {
  const record::RunOptions& options;  // of the run that made the report
  const std::vector<CompanyMember>& members;
  const std::function<void(double done, const std::string& what)>& on_progress;  // may be empty
  const std::atomic<bool>& interrupted;
};

// Starts this program again for each of `members` that passed anywhere, with the options of the
// run, but for that variant alone; notes its medians and clocks in `report`, and a warning when
// there are none. A median that differs is measured once more, and the second one counts. Returns
// early when interrupted.
void check_company(record::Report& report, const CompanyCheck& check);

}  // namespace nf4bench::bench
