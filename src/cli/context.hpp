#pragma once

#include "cli/options/command_view.hpp"

#include <string>
#include <vector>

namespace nf4bench::cli {

// What every command gets besides its own arguments.
struct Context {
  std::vector<std::string> argv;  // as the process was started
  CommandView command;            // that is given, and its options as argv gives them
};

}  // namespace nf4bench::cli
