#pragma once

#include <string>
#include <vector>

namespace nf4bench::cli {

// What every command gets besides its own arguments.
struct Context {
  std::vector<std::string> argv;  // as the process was started, and what was set elsewhere
  std::string config;             // the file that options came from; empty when there was none
};

}  // namespace nf4bench::cli
