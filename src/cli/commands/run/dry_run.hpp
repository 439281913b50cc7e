#pragma once

#include "cli/commands/run/run_plan.hpp"

#include <string>

namespace nf4bench::cli {

// What "nf4bench run --dry-run" prints.
std::string describe(const RunPlan& plan);

}  // namespace nf4bench::cli
