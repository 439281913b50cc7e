#pragma once

#include "base/error.hpp"
#include "cli/commands/run/run_command.hpp"
#include "cli/context.hpp"

namespace nf4bench::cli {

// "nf4bench run" on several GPUs: starts this program again for each of them, at once or in turn,
// with the same options, and shows what came of it. The result is the worst of the exit codes, or
// that of an interruption.
ExitCode run_on_several(const RunArguments& arguments, const Context& context);

}  // namespace nf4bench::cli
