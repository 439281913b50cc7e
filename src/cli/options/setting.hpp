#pragma once

#include "cli/options/option_facts.hpp"

#include <string>
#include <vector>

namespace CLI {
class Option;
}  // namespace CLI

namespace nf4bench::cli {

class CommandApp;

// What a configuration file or the environment says of one option.
struct Setting {
  CLI::Option* option = nullptr;
  std::string name;                 // "max-time"; for a positional argument its own name
  std::vector<std::string> values;  // empty: the default; for a flag "true" or "false"
  std::string origin;               // "bench.toml:3" or "NF4BENCH_RUN_MAX_TIME"
};

// A name under which an option can be set elsewhere than on the command line.
struct SettableName {
  std::string name;
  CLI::Option* option;
  const OptionFacts* facts;
};
std::vector<SettableName> settable_names(CommandApp& command);

// Whether `name` is an option of `command` that only the command line may give.
bool is_command_line_only(const CommandApp& command, const std::string& name);

// The parts of `text` between separators: always one part more than there are separators.
std::vector<std::string> split(const std::string& text, char separator);

// The values of an option in `texts`: lists are split at commas, empty values are left out.
std::vector<std::string> values_of(const std::vector<std::string>& texts, const OptionFacts& facts);

// Whether an option has a value, and is no flag that is switched off.
bool is_active(const CLI::Option& option);

// Gives the options of `command` that have no value yet, and exclude none that has, those of
// `layer`; of the others it only checks whether they could be taken. Returns those that took
// effect. Throws Error(kUsage) that begins with the origin.
std::vector<Setting> fill(CommandApp& command, const std::vector<Setting>& layer);

// What to write on a command line instead of `setting`; nothing when it sets the default.
std::vector<std::string> words_of(const Setting& setting);

// " (--threads is set by bench.toml:3)" for each of `settings` whose option or value stands in
// `message`; else empty.
std::string origins_of(const std::string& message, const std::vector<Setting>& settings);

}  // namespace nf4bench::cli
