#pragma once

#include "base/error.hpp"

#include <concepts>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace nf4bench::cli {

using Words = std::vector<std::string>;

struct Option;
struct Command;

// What a command gets besides its own options.
struct Context {
  Words argv;                            // as the process was started, and what was set elsewhere
  std::string config;                    // the file that options came from; empty: none
  const std::vector<Command>& commands;  // all of them, the program first
};

// What an option fills, and how its words become a value. The values are borrowed.
struct Binding {
  enum class Value { kNone, kText, kInteger, kNumber };
  enum class Count {
    kOnce,
    kRepeated,  // any number of times, one word each
    kList       // the same, but a word may be a list separated by commas
  };

  Binding(bool& value);
  Binding(int& value);
  Binding(std::uint64_t& value);
  Binding(double& value);
  Binding(std::string& value);
  Binding(Words& values);  // repeated; a list with the trait kList

  // Functions throw Error(kUsage) for words that they do not take.
  template <std::invocable<bool> Take>
  requires(!std::invocable<Take, const Words&>) Binding(Take flag)
      : value(Value::kNone),
        take([flag](const Option&, const Words& words) { flag(words.back() == "true"); }) {}
  template <std::invocable<const std::string&> Take>
  Binding(Take word) : take([word](const Option&, const Words& words) { word(words.back()); }) {}
  template <std::invocable<const Words&> Take>
  Binding(Take all)
      : count(Count::kList), take([all](const Option&, const Words& words) { all(words); }) {}

  Value value = Value::kText;
  Count count = Count::kOnce;
  std::function<void(const Option&, const Words&)> take;
  std::string preset{};  // the value without the option; "[=]" in the help stands for it
  Words choices{};       // that are offered; other words are allowed unless is_choice
  bool is_choice = false;
};

// Facts about an option, which are or-ed.
enum Trait : unsigned {
  kRequired = 1,
  kCommon = 2,            // in the short help
  kFiles = 4,             // its words are paths
  kTakesAll = 8,          // all words that follow, not only one
  kCommandLineOnly = 16,  // neither from a file nor from the environment
  kMayBeNumber = 32,      // a text that a configuration file may give as a number
  kList = 64,             // words may be lists separated by commas
  kHidden = 128           // not for people
};

// An option or argument of a command: all that the parser, the help, completions, the manual page,
// the environment and configuration files know of it.
struct Option {
  using Value = Binding::Value;
  using Count = Binding::Count;

  Option& suggests(Words words);  // other words are allowed
  Option& one_of(Words words);    // other words are refused
  Option& between(double low, double high);
  Option& excludes(const std::string& name);
  Option& needs(const std::string& name);
  Option& variable(const std::string& name);  // besides the one that every option has

  bool is(Trait trait) const { return (traits & trait) != 0; }
  bool is_flag() const { return binding.value == Value::kNone; }
  bool is_list() const { return binding.count == Count::kList; }
  bool is_repeatable() const { return binding.count != Count::kOnce; }
  bool is_positional() const { return !names.front().starts_with('-'); }
  bool has_name(std::string_view name) const;
  const std::string& name() const;  // "--output"; of an argument "input"

  // Under which it can be set elsewhere than on the command line: "max-time".
  Words long_names() const;

  // Gives `words`, one or more, to what the option fills. Throws Error(kUsage) that begins with the
  // option, for words that it does not take.
  void take(const Words& words) const;

  Words names;        // "-o", "--output"; of an argument "input"
  std::string value;  // what stands for it: "FILE"; empty for a flag
  std::string help;
  std::string group;
  unsigned traits = 0;
  Binding binding;
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  Words excluded{};  // names
  Words needed{};
  std::string own_variable{};
};

// A command, or with an empty name the program itself.
struct Command {
  Command(std::string name, std::string summary, std::string footer);

  // Adds an option: "-o,--output FILE", a flag "--gate" or an argument "input". `traits` are or-ed.
  Option& add(std::string_view spec, const Binding& binding, std::string help, unsigned traits = 0);

  std::vector<const Option*> positionals() const;
  std::vector<const Option*> shown_options() const;  // without positionals, and for people

  std::string name;
  std::string summary;
  std::string footer;             // of the help
  std::string group = "Options";  // of the options that are added next
  std::vector<Option> options{};
  std::function<ExitCode(const Context&)> run{};
};

// Says it on stderr, as a warning.
void warn(const std::string& warning);

// True for a flag's "true", "1", "yes" and "on", false for their opposites. Throws Error(kUsage)
// that begins with `what`.
bool is_on(const std::string& what, const std::string& word);

// The parts of `text` between separators: always one part more than there are separators.
Words split(std::string_view text, char separator);

}  // namespace nf4bench::cli
