#pragma once

#include "base/error.hpp"
#include "cli/commands/run/run_command.hpp"
#include "report/report.hpp"
#include "report/report_file.hpp"

#include <string>

namespace nf4bench::cli {

// What "nf4bench run" writes and shows when it ends, in whichever way. Borrows all that it is
// given.
class RunEnding {
 public:
  RunEnding(record::Report& report, report::ReportFile& file, const RunArguments& arguments)
      : report_(report), file_(file), arguments_(arguments) {}

  // The run came to its end or was interrupted: saves the report, shows the table, and says on
  // stderr what a reader of the table could overlook. A report that cannot be saved is at least
  // shown.
  ExitCode publish() const;

  // An error ended the run: the report says so, and what there is of it is saved and shown as far
  // as that is possible. Never throws an Error.
  void break_off(const std::string& problem) const;

  // The same for a call that does not return, and then the end of the process: whatever would be
  // destroyed or waited for may belong to that call.
  [[noreturn]] void abandon(const std::string& problem) const;

 private:
  void show_table() const;

  record::Report& report_;
  report::ReportFile& file_;
  const RunArguments& arguments_;
};

}  // namespace nf4bench::cli
