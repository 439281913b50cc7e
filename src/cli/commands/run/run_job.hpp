#pragma once

#include "base/error.hpp"
#include "cli/commands/run/run_command.hpp"
#include "cli/context.hpp"

namespace nf4bench::cli {

// The main job: load, verify, time, report.
ExitCode execute(const RunArguments& arguments, const Context& context);

}  // namespace nf4bench::cli
