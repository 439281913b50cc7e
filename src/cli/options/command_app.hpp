#pragma once

#include <CLI/CLI.hpp>

#include <map>
#include <string>
#include <vector>

namespace nf4bench::cli {

// What the declaration of an option says beyond what CLI11 keeps of it.
struct OptionFacts {
  enum class Value { kNone, kText, kInteger, kNumber };
  enum class Count {
    kOnce,
    kRepeated,  // any number of times, one value each
    kList       // the same, and a value may be a comma-separated list
  };
  Value value = Value::kText;
  Count count = Count::kOnce;
  bool names_files = false;
  bool may_be_number = false;          // a text that a configuration file may give as a number
  std::vector<std::string> choices{};  // values that are offered; empty when there is no such list
  bool takes_only_choices = false;     // any other value is refused
  std::string variable{};              // an environment variable besides the usual one
};

// A command, or the program: CLI11's parser with the facts about its options. Includes CLI11's
// header, which takes seconds to compile; options.hpp is for the command files.
class CommandApp final : public CLI::App {
 public:
  explicit CommandApp(const std::string& description) : CLI::App(description) {}

  OptionFacts& facts_of(const CLI::Option* option) { return facts_[option]; }

  // Of --help and --version, which CLI11 itself adds, too.
  const OptionFacts& facts_of(const CLI::Option* option) const {
    static const OptionFacts kFlag = {.value = OptionFacts::Value::kNone};
    const auto known = facts_.find(option);
    return known == facts_.end() ? kFlag : known->second;
  }

  // The commands below this one, in the order of the help.
  std::vector<const CommandApp*> commands() const {
    std::vector<const CommandApp*> all;
    for (const CLI::App* each : get_subcommands([](const CLI::App*) { return true; })) {
      all.push_back(static_cast<const CommandApp*>(each));  // add_command() makes no others
    }
    return all;
  }

 private:
  std::map<const CLI::Option*, OptionFacts> facts_;
};

}  // namespace nf4bench::cli
