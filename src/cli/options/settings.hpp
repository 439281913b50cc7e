#pragma once

#include "cli/options/command_view.hpp"

#include <functional>
#include <string>
#include <vector>

namespace nf4bench::cli {

// What a configuration file or the environment says of one option. Borrows the option.
struct Setting {
  const OptionView* option = nullptr;
  std::string name;                 // "max-time"; of a positional argument its own name
  std::vector<std::string> values;  // none: the option's default; of a flag "true" or "false"
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

// The parts of `text` between separators; one more than there are separators.
std::vector<std::string> split(const std::string& text, char separator);

// `texts` as the values of an option: lists taken apart at their commas, empty ones left out.
std::vector<std::string> values_of(const std::vector<std::string>& texts, const OptionFacts& facts);

// The words that say on a command line what `setting` says; none when it says what is the default.
std::vector<std::string> words_of(const Setting& setting);

// Parses a whole command line and says what is wrong with it; empty when nothing is, or when
// something is missing that may be set elsewhere.
using TryToParse = std::function<std::string(const std::vector<std::string>& argv)>;

// Throws Error(kUsage) that begins with the origin when `command` would not take the setting.
void check(const Setting& setting, const CommandView& command, const TryToParse& try_to_parse);

// What is set so far, from the top layer down.
struct SettledOptions {
  std::vector<const OptionView*> set;     // those switched off and left at their defaults included
  std::vector<const OptionView*> active;  // those that were really given
};

// Of the settings of the next layer those that hold: an option that is set already, or excludes an
// active one, is no longer this layer's to set.
std::vector<Setting> not_overruled(const std::vector<Setting>& layer, const SettledOptions& above);

}  // namespace nf4bench::cli
