#pragma once

#include <string>

#include "report/report.hpp"

namespace nf4bench {

// How this binary was built.
ToolInfo tool_info();

// The answer to --version: version, commit, and which CUDA architectures are built in.
std::string version_text();

}  // namespace nf4bench
