#pragma once

#include "base/atomic_file.hpp"
#include "base/file_lock.hpp"
#include "report/report.hpp"

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace nf4bench::report {

// Whether a file that begins so is a report, as this program lays it out.
bool begins_as_report(std::string_view beginning);

// Keeps the file named by --json up to date with a report that grows. A file on disk is replaced as
// a whole and never holds half a report, and an older one stays until the new one has a
// measurement. What cannot be replaced is written once, at the end: "-" (stdout), pipes and
// devices.
class ReportFile {
 public:
  // `path` may be empty: nothing is written. The report must outlive this object. Makes sure at
  // once that the path can be written, and that no other process is writing it; `check` says before
  // each replacement that the path has become another's, and `text_of` what is written. Throws
  // Error(kOutput).
  using TextOf = std::function<std::string(const record::Report&)>;
  ReportFile(std::string path, const record::Report& report, AtomicFile::Check check = {},
             TextOf text_of = to_json);

  // Saves what finish() did not, as when an error ends the run; failures are lost.
  ~ReportFile();

  ReportFile(const ReportFile&) = delete;
  ReportFile& operator=(const ReportFile&) = delete;

  // To be called after each change of the report; writes unless the last write was just now. A
  // failure is no reason to end the run: there may be room again when it ends.
  void changed();

  // Writes the final state and leaves the path to others. Throws Error(kOutput).
  void finish();

 private:
  using Clock = std::chrono::steady_clock;
  void start();
  void save();
  void plan_next_save(Clock::time_point before);

  std::string path_;
  const record::Report& report_;
  AtomicFile::Check check_;
  TextOf text_of_;
  bool is_replaceable_;
  std::optional<OutputLock> lock_;
  bool has_older_ = false;  // there is a file that is not this run's
  bool is_saved_ = false;
  Clock::time_point next_save_{};
};

}  // namespace nf4bench::report
