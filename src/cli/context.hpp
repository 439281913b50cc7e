#pragma once

#include "cli/options/command_view.hpp"

#include <string>
#include <vector>

namespace nf4bench::cli {

// What every command gets besides its own arguments.
struct Context {
  std::vector<std::string> argv;  // as the process was started
  std::string config;             // the file that options came from; empty when there was none
  CommandView command;            // that is given, and its options as argv gives them
};

}  // namespace nf4bench::cli
