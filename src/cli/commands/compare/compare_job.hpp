#pragma once

#include "base/error.hpp"
#include "cli/commands/compare/compare_command.hpp"
#include "cli/context.hpp"

namespace nf4bench::cli {

// Judges new reports against old ones; with --gate the exit code says whether they pass.
ExitCode execute(const CompareArguments& arguments, const Context& context);

}  // namespace nf4bench::cli
