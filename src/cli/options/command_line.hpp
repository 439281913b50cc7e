#pragma once

#include "cli/options/settings.hpp"

#include <string>
#include <vector>

namespace nf4bench::cli {

// A command line with everything on it that is in effect.
struct CommandLine {
  // As typed, with the options that the environment and a configuration file set written out
  // behind the command's name.
  std::vector<std::string> argv;
  std::vector<Setting> settings;      // those that were written out, with where they come from
  std::vector<std::string> warnings;  // for stderr
};

// Adds to `argv` what the environment, then the configuration file set and nothing above them does.
// `views` are those of the program after it has parsed `argv`; the result borrows their options.
// Throws Error(kUsage).
CommandLine complete(const std::vector<std::string>& argv, const std::vector<CommandView>& views,
                     const TryToParse& try_to_parse);

// " (--threads is set by bench.toml:3)" for each of `settings` whose option or value `message`
// names; else empty.
std::string origins_of(const std::string& message, const std::vector<Setting>& settings);

}  // namespace nf4bench::cli
