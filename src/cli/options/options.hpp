#pragma once

#include "nf4/tensor.hpp"

#include <functional>
#include <string>
#include <vector>

// CLI11's classes. Its header takes seconds to compile, so the command files do not include it.
namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace nf4bench::cli {

// How the command files declare commands and options.

struct OptionFacts;

// Adds a command; its help ends with `examples`. `app` and the result are CommandApps.
CLI::App* add_command(CLI::App& app, const char* name, const char* summary, const char* examples);

// What the help shows of an option.
struct OptionText {
  const char* flags;  // "-o,--output"; without dashes it is a positional argument
  const char* value;  // "FILE": stands for the value
  std::string help;
};

// An option that is being declared. Each function changes it and returns it.
class Option {
 public:
  Option(CLI::Option* option, OptionFacts& facts) : option_(option), facts_(&facts) {}

  Option group(const char* heading) const;  // of the help
  Option common() const;                    // in the help that does not show all
  Option required() const;
  Option takes_all() const;                        // all values that follow, not only one
  Option command_line_only() const;                // neither from a file nor from the environment
  Option environment(const char* variable) const;  // besides the one that every option has
  Option between(int low, int high) const;
  Option between(double low, double high) const;
  Option excludes(const Option& other) const;
  Option needs(const Option& other) const;

  // For completions in a shell and the checks of a configuration file.
  Option files() const;          // the values are paths
  Option may_be_number() const;  // of a text: a configuration file may give it as a number
  Option suggests(const std::vector<std::string>& words) const;  // other values are allowed
  Option one_of(const std::vector<std::string>& words) const;    // other values are refused

 private:
  CLI::Option* option_;
  OptionFacts* facts_;
};

// An option that may be given once, with one value.
Option add_single(CLI::App& command, std::string& target, const OptionText& text);
Option add_single(CLI::App& command, int& target, const OptionText& text);
Option add_single(CLI::App& command, double& target, const OptionText& text);
Option add_single(CLI::App& command, unsigned long& target, const OptionText& text);

// The same, with a value that `take` reads. It throws Error(kUsage) for what is none.
Option add_single(CLI::App& command, const std::function<void(const std::string&)>& take,
                  const OptionText& text);

// An option that may be repeated, with one value each time.
Option add_repeated(CLI::App& command, std::vector<std::string>& target, const OptionText& text);

// The same, but each value may be a list separated by commas.
Option add_list(CLI::App& command, std::vector<std::string>& target, const OptionText& text);

Option add_list(CLI::App& command, const std::function<void(const std::vector<std::string>&)>& take,
                const OptionText& text);

// An option without a value.
Option add_flag(CLI::App& command, const char* flags, bool& target, const char* help);
Option add_flag(CLI::App& command, const char* flags, std::function<void()> take, const char* help);

// --help-all beside --help, in a command with common options.
void add_help_all(CLI::App& command);

// The flags --plain and --nested, which exclude each other; nested is the default.
struct AbsmaxFlags {
  Option plain;
  Option nested;
};
AbsmaxFlags add_absmax_flags(CLI::App& command, nf4::AbsmaxKind& kind);

}  // namespace nf4bench::cli
