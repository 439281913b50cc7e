#pragma once

#include "report/report.hpp"

#include <string>

namespace nf4bench::report {

// How this binary was built.
record::ToolInfo tool_info();

// The answer to --version: version, commit, and which CUDA architectures are built in.
std::string version_text();

}  // namespace nf4bench::report
