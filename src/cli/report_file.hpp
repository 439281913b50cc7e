#pragma once

#include <chrono>
#include <string>

#include "report/report.hpp"

namespace nf4bench {

// Keeps the file named by --json up to date with a report that grows. A file on disk is replaced as
// a whole and never holds half a report. What can not be replaced is written once, at the end:
// "-" (stdout), pipes and devices.
class ReportFile {
 public:
  // `path` may be empty: nothing is written. The report must outlive this object. Writes the still
  // empty report at once, so that a path that can not be written is known before measuring. Throws
  // Error(kOutput).
  ReportFile(std::string path, const Report& report);

  // Saves what finish() did not, as when an error ends the run; failures are lost.
  ~ReportFile();

  ReportFile(const ReportFile&) = delete;
  ReportFile& operator=(const ReportFile&) = delete;

  // To be called after each change of the report; writes unless the last write was just now.
  void changed();

  // Writes the final state.
  void finish();

 private:
  using Clock = std::chrono::steady_clock;
  void save();

  std::string path_;
  const Report& report_;
  bool is_replaceable_;
  bool is_saved_ = false;
  Clock::time_point next_save_{};
};

}  // namespace nf4bench
