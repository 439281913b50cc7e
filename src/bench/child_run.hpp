#pragma once

#include "base/child_process.hpp"
#include "record/run_options.hpp"

#include <atomic>
#include <string>
#include <vector>

namespace nf4bench::bench {

// In the environment of a process that is to tell its progress line by line on stderr.
inline constexpr char kTellProgress[] = "NF4BENCH_PROGRESS=lines";

// "nf4bench run" with `options` in a process of its own.
ChildCommand run_command_for(const record::RunOptions& options,
                             const std::vector<std::string>& environment);

// The program of the CUDA Toolkit called `name`: on PATH, or where the toolkit is installed; empty:
// there is none.
std::string toolkit_program(const std::string& name);

// A tool that starts "nf4bench run" with `options` and looks at it.
struct ToolRun {
  std::vector<std::string> words;  // the tool and its own arguments
  const record::RunOptions& options;
  double limit_s = 300.0;  // it and all that it started are ended when silent for so long
};

// Lets it run to its end.
ChildOutcome run_under_tool(const ToolRun& run, const std::atomic<bool>& interrupted);

// The last line of `texts` that is not empty, fit for a terminal; "nothing" without one.
std::string last_line(const std::vector<std::string>& texts);

}  // namespace nf4bench::bench
