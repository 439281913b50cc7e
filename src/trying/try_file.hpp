#pragma once

#include "base/child_process.hpp"
#include "record/report.hpp"
#include "record/run_options.hpp"
#include "trying/attempt.hpp"

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nf4bench::trying {

// A kernel to be tried.
struct Request {
  std::string file;                    // source, shared library or Python file
  record::RunOptions options;          // on what it is tried, and for how long
  std::string keep;                    // a folder for what the compiler makes of it; empty: none
  bool sanitize = false;               // run it under compute-sanitizer, too
  bool why = false;                    // have its counters read
  const std::vector<Attempt>& before;  // tries of the same file
  const std::atomic<bool>& interrupted;
  std::function<void(std::string_view bytes)> on_progress{};  // stderr of the run
};

// Compiles it, and has it verified and timed beside the fastest built-in variant, the baseline and
// the last try that was ok, in a process of its own. None when it was interrupted. Throws Error
// where that is not the kernel's doing.
std::optional<Attempt> try_file(const Request& request);

// What a run, ended as `outcome` says, says of the kernel; `report` is as much of it as was
// written, `sass` what peer::disassembled() gave. Fills in cells, status and reason.
void judge(Attempt& attempt, const std::optional<record::Report>& report,
           const ChildOutcome& outcome, const std::string& sass = "");

// The names of the peers of such a run.
inline constexpr char kMine[] = "mine";
inline constexpr char kLast[] = "last";

// Makes sure that nothing but what an earlier --keep wrote is replaced in `folder`. Throws
// Error(kUsage).
void check_keep(const std::string& folder, const std::string& file);

}  // namespace nf4bench::trying
