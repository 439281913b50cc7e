#pragma once

#include <string>
#include <vector>

// CLI11's classes. Its header takes seconds to compile, so that the command files do not include
// it.
namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace nf4bench::cli {

// Declares commands and their options, in every command file the same way.

struct OptionFacts;

// Adds a command; `examples` ends its help. `app` and the commands are CommandApps.
CLI::App* add_command(CLI::App& app, const char* name, const char* summary, const char* examples);

// How an option looks in the help: what it is called, what its value stands for, what it does.
struct OptionText {
  const char* flags;  // "-o,--output"; without dashes it is a positional argument
  const char* value;  // "FILE"; how the help shows the value
  std::string help;
};

// An option that is being declared. Each function changes it and gives it back.
class Option {
 public:
  Option(CLI::Option* option, OptionFacts& facts) : option_(option), facts_(&facts) {}

  Option group(const char* heading) const;  // of the help
  Option required() const;
  Option takes_all() const;                        // every value that follows, not one
  Option command_line_only() const;                // neither from a file nor from the environment
  Option environment(const char* variable) const;  // besides the one that every option has
  Option between(int low, int high) const;
  Option between(double low, double high) const;
  Option excludes(const Option& other) const;
  Option needs(const Option& other) const;

  // What shells complete, and what a configuration file is held to.
  Option files() const;          // the values are paths
  Option may_be_number() const;  // of a text: a configuration file may give it as a number
  Option suggests(const std::vector<std::string>& words) const;  // other values may be right, too
  Option one_of(const std::vector<std::string>& words) const;    // nothing else is right

 private:
  CLI::Option* option_;
  OptionFacts* facts_;
};

// An option given at most once, with one value.
Option add_single(CLI::App& command, std::string& target, const OptionText& text);
Option add_single(CLI::App& command, int& target, const OptionText& text);
Option add_single(CLI::App& command, double& target, const OptionText& text);
Option add_single(CLI::App& command, unsigned long& target, const OptionText& text);

// An option that may be repeated, with one value each time.
Option add_repeated(CLI::App& command, std::vector<std::string>& target, const OptionText& text);

// The same, and each value may be a comma-separated list.
Option add_list(CLI::App& command, std::vector<std::string>& target, const OptionText& text);

// An option without a value.
Option add_flag(CLI::App& command, const char* flags, bool& target, const char* help);

// The flags --plain and --nested, which exclude each other; nested is the default.
struct AbsmaxFlags {
  Option plain;
  Option nested;
};
AbsmaxFlags add_absmax_flags(CLI::App& command, bool& plain, bool& nested);

}  // namespace nf4bench::cli
