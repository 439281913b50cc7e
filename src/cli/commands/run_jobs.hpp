#pragma once

#include "base/error.hpp"
#include "record/run_options.hpp"

namespace nf4bench::cli {

struct Context;

// Loads, verifies, times and reports.
ExitCode run_on_one(const record::RunOptions& options, const Context& context);

// The same on several GPUs: starts this program again for each of them, at once or in turn, with
// the same options, and shows what came of it. The result is the worst of the exit codes, or that
// of an interruption.
ExitCode run_on_several(const record::RunOptions& options);

}  // namespace nf4bench::cli
