#pragma once

#include "cli/options/option_facts.hpp"

#include <string>
#include <vector>

namespace nf4bench::cli {

class CommandApp;

// An option as it was declared.
struct OptionView {
  std::vector<std::string> names;  // "-o", "--output"; empty for a positional argument
  std::string positional;          // "input"; empty for an option
  std::string value;               // "FILE"; empty for a flag
  std::string help;                // on one line
  std::string group;
  OptionFacts facts;
  bool is_required = false;

  bool is_flag() const { return facts.value == OptionFacts::Value::kNone; }
  bool is_repeatable() const { return facts.count != OptionFacts::Count::kOnce; }
  bool is_list() const { return facts.count == OptionFacts::Count::kList; }
  bool is_positional() const { return !positional.empty(); }
};

// A command, or with an empty name the program itself.
struct CommandView {
  std::string name;
  std::string summary;
  std::string footer;
  std::vector<OptionView> options;
  std::vector<OptionView> positionals;

  bool is_program() const { return name.empty(); }
};

CommandView view_of(const CommandApp& command);

// The program, then its commands. Plain data, so that completions and messages need no CLI11.
std::vector<CommandView> views_of(const CommandApp& app);

}  // namespace nf4bench::cli
