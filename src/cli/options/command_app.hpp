#pragma once

#include "cli/options/option_facts.hpp"

#include <CLI/CLI.hpp>

#include <map>
#include <string>
#include <vector>

namespace nf4bench::cli {

// A command, or the program: CLI11's parser with the facts about its options. Includes CLI11's
// header, which takes seconds to compile: options.hpp declares options and command_view.hpp shows
// them without it.
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
    return own<const CommandApp>(get_subcommands([](const CLI::App*) { return true; }));
  }
  std::vector<CommandApp*> commands() {
    return own<CommandApp>(get_subcommands([](CLI::App*) { return true; }));
  }

 private:
  // add_command() makes no others.
  template <class Own, class App>
  static std::vector<Own*> own(const std::vector<App*>& apps) {
    std::vector<Own*> all;
    all.reserve(apps.size());
    for (App* const each : apps) all.push_back(static_cast<Own*>(each));
    return all;
  }

  std::map<const CLI::Option*, OptionFacts> facts_;
};

}  // namespace nf4bench::cli
