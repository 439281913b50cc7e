#pragma once

#include "cli/options/option_facts.hpp"

#include <string>
#include <vector>

namespace nf4bench::cli {

class CommandApp;

// An option as it was declared, and as the command line gave it.
struct OptionView {
  std::vector<std::string> names;  // "-o", "--output"; empty for a positional argument
  std::string positional;          // "input"; empty for an option
  std::string value;               // "FILE"; empty for a flag
  std::string help;                // on one line
  std::string group;
  OptionFacts facts;
  bool is_settable = true;            // also by the environment and a configuration file
  std::vector<std::string> excluded;  // first names of the options that it does not go with
  std::vector<std::string> given;     // values on the command line; empty when it is not there

  bool is_flag() const { return facts.value == OptionFacts::Value::kNone; }
  bool is_repeatable() const { return facts.count != OptionFacts::Count::kOnce; }
  bool is_list() const { return facts.count == OptionFacts::Count::kList; }
  bool is_positional() const { return !positional.empty(); }
  const std::string& first_name() const { return names.empty() ? positional : names.front(); }
};

// A command, or with an empty name the program itself.
struct CommandView {
  std::string name;
  std::string summary;
  std::string footer;
  bool is_given = false;  // on the command line
  std::vector<OptionView> options;
  std::vector<OptionView> positionals;

  bool is_program() const { return name.empty(); }
};

// The program, then its commands. Plain data, so that completions, messages and settings need no
// CLI11.
std::vector<CommandView> views_of(const CommandApp& app);

}  // namespace nf4bench::cli
