#pragma once

#include "cli/options/command_view.hpp"

#include <functional>
#include <string>
#include <vector>

namespace nf4bench::cli {

// What a configuration file or the environment says of one option. Borrows the option.
struct Setting {
  const OptionView* option = nullptr;
  std::string name;                 // "max-time"; for a positional argument its own name
  std::vector<std::string> values;  // empty: the default; for a flag "true" or "false"
  std::string origin;               // "bench.toml:3" or "NF4BENCH_RUN_MAX_TIME"
};

// The names under which the options of `command` can be set, each with its option.
struct SettableName {
  std::string name;
  const OptionView* option;
};
std::vector<SettableName> settable_names(const CommandView& command);

// Whether `name` is an option of `command` that only the command line may give.
bool is_command_line_only(const CommandView& command, const std::string& name);

// The parts of `text` between separators: always one part more than there are separators.
std::vector<std::string> split(const std::string& text, char separator);

// The values of an option in `texts`: lists are split at commas, empty values are left out.
std::vector<std::string> values_of(const std::vector<std::string>& texts, const OptionFacts& facts);

// What to write on a command line instead of `setting`; nothing when it sets the default.
std::vector<std::string> words_of(const Setting& setting);

// Parses a whole command line and says what is wrong with it; empty when nothing is, or when
// something is missing that may be set elsewhere.
using TryToParse = std::function<std::string(const std::vector<std::string>& argv)>;

// Throws Error(kUsage) that begins with the origin when `command` does not take the setting.
void check(const Setting& setting, const CommandView& command, const TryToParse& try_to_parse);

// What the layers above have set: the command line, then the environment.
struct SettledOptions {
  std::vector<const OptionView*> set;  // also flags switched off and options left at their defaults
  std::vector<const OptionView*> active;  // without these
};

// The settings of the next layer that take effect. A setting does not when its option is set above,
// or when it excludes an option that is active.
std::vector<Setting> not_overruled(const std::vector<Setting>& layer, const SettledOptions& above);

}  // namespace nf4bench::cli
