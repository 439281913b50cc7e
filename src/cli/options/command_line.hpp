#pragma once

#include "cli/options/settings.hpp"

#include <string>
#include <vector>

namespace nf4bench::cli {

// A command line on which everything stands that is in effect.
struct CommandLine {
  // As it was typed, and after the command's name the options that the environment and a
  // configuration file set.
  std::vector<std::string> argv;
  std::vector<Setting> settings;      // the options that were added, and where each was set
  std::vector<std::string> warnings;  // for stderr
  std::string config;                 // the configuration file; empty when there is none
};

// Adds to `argv` what the environment sets and `argv` does not, then what the configuration file
// sets and neither of them does. `views` are those of a parser that has parsed `argv`; the result
// borrows their options. Throws Error(kUsage).
CommandLine complete(const std::vector<std::string>& argv, const std::vector<CommandView>& views,
                     const TryToParse& try_to_parse);

// The command of `views` that is given; null when none is.
const CommandView* given_command(const std::vector<CommandView>& views);

// The words that give `command` its options once more, but for those whose long names are in
// `left_out`; positional arguments come last, behind "--". For a command line that complete() made.
std::vector<std::string> words_again(const CommandView& command,
                                     const std::vector<std::string>& left_out);

// " (--threads is set by bench.toml:3)" for each of `settings` whose option or value stands in
// `message`; else empty.
std::string origins_of(const std::string& message, const std::vector<Setting>& settings);

}  // namespace nf4bench::cli
