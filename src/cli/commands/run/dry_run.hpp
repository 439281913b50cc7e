#pragma once

#include "bench/run_plan.hpp"

#include <string>

namespace nf4bench::cli {

// What "nf4bench run --dry-run" prints.
std::string describe(const bench::RunPlan& plan);

}  // namespace nf4bench::cli
