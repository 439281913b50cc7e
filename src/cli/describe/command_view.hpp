#pragma once

#include "cli/options/command_app.hpp"

#include <string>
#include <vector>

namespace nf4bench::cli {

// An option as people see it.
struct OptionView {
  std::vector<std::string> names;  // "-o", "--output"; empty for a positional argument
  std::string positional;          // "input"; empty for an option
  std::string value;               // "FILE"; empty for a flag
  std::string help;                // on one line
  std::string group;
  OptionFacts facts;

  bool is_flag() const { return facts.value == OptionFacts::Value::kNone; }
  bool is_repeatable() const { return facts.count != OptionFacts::Count::kOnce; }
  bool is_list() const { return facts.count == OptionFacts::Count::kList; }
};

// A command, or with an empty name the program itself.
struct CommandView {
  std::string name;
  std::string summary;
  std::string footer;
  std::vector<OptionView> options;
  std::vector<OptionView> positionals;
};

// The program, then its commands: what completions and the man page are made from.
std::vector<CommandView> views_of(const CommandApp& app);

}  // namespace nf4bench::cli
