#pragma once

#include "cli/options/setting.hpp"

#include <string>
#include <vector>

namespace nf4bench::cli {

// The environment variable for an option: NF4BENCH_RUN_MAX_TIME for max-time of run.
std::string variable_of(const std::string& command, const std::string& option);

// What the environment says of a command.
struct Environment {
  std::vector<Setting> settings;
  std::vector<std::string>
      warnings;  // about variables that look like the command's but set nothing
};

// Looks for the variables of `command`'s options. Values of a repeated option are separated by
// semicolons, those of a list by commas; an empty value sets nothing. Throws Error(kUsage) that
// begins with the variable.
Environment read_environment(CommandApp& command);

}  // namespace nf4bench::cli
