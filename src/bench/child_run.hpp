#pragma once

#include "base/child_process.hpp"
#include "record/run_options.hpp"

#include <string>
#include <vector>

namespace nf4bench::bench {

// In the environment of a process that is to tell its progress line by line on stderr.
inline constexpr char kTellProgress[] = "NF4BENCH_PROGRESS=lines";

// "nf4bench run" with `options` in a process of its own.
ChildCommand run_command_for(const record::RunOptions& options,
                             const std::vector<std::string>& environment);

}  // namespace nf4bench::bench
