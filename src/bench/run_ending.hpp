#pragma once

#include "base/error.hpp"
#include "record/report.hpp"
#include "record/run_options.hpp"
#include "report/report_file.hpp"

#include <string>

namespace nf4bench::bench {

// Writes and shows what there is when "nf4bench run" ends, however it ends. Borrows what it is
// given.
class RunEnding {
 public:
  RunEnding(record::Report& report, report::ReportFile& file, const record::RunOptions& options)
      : report_(report), file_(file), options_(options) {}

  // For a run that was finished or interrupted: saves the report, shows the table, and says on
  // stderr what a reader of the table could overlook. When the report cannot be saved, the table is
  // shown before the error is thrown.
  ExitCode publish() const;

  // For a run that an error ended: notes the error in the report, and saves and shows as much of
  // the report as it can. Never throws an Error.
  void break_off(const std::string& problem) const;

  // The same for a call that does not return. Ends the process at once, because the call may still
  // use whatever would be destroyed or waited for.
  [[noreturn]] void abandon(const std::string& problem) const;

 private:
  void show_table() const;

  record::Report& report_;
  report::ReportFile& file_;
  const record::RunOptions& options_;
};

}  // namespace nf4bench::bench
