#include "cli/options/usage_error.hpp"

#include "base/text.hpp"
#include "cli/options/choices.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

namespace nf4bench::cli {
namespace {

std::vector<std::string> command_names(const std::vector<CommandView>& views) {
  std::vector<std::string> names;
  for (const CommandView& view : views) {
    if (!view.is_program()) names.push_back(view.name);
  }
  return names;
}

// Every name of every option, with its dashes; for each option its long names first.
std::vector<std::string> option_names(const CommandView& command) {
  const auto is_long = [](const std::string& name) { return name.starts_with("--"); };
  std::vector<std::string> names;
  for (const OptionView& option : command.options) {
    const auto& own = option.names;
    std::copy_if(own.begin(), own.end(), std::back_inserter(names), is_long);
    std::remove_copy_if(own.begin(), own.end(), std::back_inserter(names), is_long);
  }
  return names;
}

bool contains(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// The command that `argv` names; the program when it names none.
const CommandView& command_of(const std::vector<CommandView>& views,
                              const std::vector<std::string>& argv) {
  for (std::size_t i = 1; i < argv.size(); ++i) {
    for (const CommandView& view : views) {
      if (!view.is_program() && view.name == argv[i]) return view;
    }
  }
  return views.front();
}

// The first word of `argv` that looks like an option but is not in `known`; else empty.
std::string unknown_option(const std::vector<std::string>& argv,
                           const std::vector<std::string>& known) {
  for (std::size_t i = 1; i < argv.size(); ++i) {
    std::string word = argv[i].substr(0, argv[i].find('='));
    if (argv[i] == "--") break;
    if (word.starts_with("--") && !contains(known, word)) return word;
  }
  return "";
}

bool lacks(const std::string& problem, const OptionView& option) {
  const auto is_it = [&](const std::string& name) { return problem == name + " is required"; };
  return is_it(option.positional) || std::any_of(option.names.begin(), option.names.end(), is_it);
}

// What is to be given, where `problem` only has the name of what is missing.
std::string meaning_of(const std::string& problem, const CommandView& command) {
  for (const auto* all : {&command.positionals, &command.options}) {
    for (const OptionView& option : *all) {
      if (!lacks(problem, option) || option.help.empty()) continue;
      return ": " + option.help.substr(0, option.help.find(" (required)"));
    }
  }
  return "";
}

std::string help_hint(const CommandView& command) {
  return fmt::format("; see nf4bench {}--help", command.is_program() ? "" : command.name + " ");
}

}  // namespace

std::string explain_usage_error(const std::vector<CommandView>& views, const std::string& problem,
                                const std::vector<std::string>& argv) {
  const CommandView& command = command_of(views, argv);
  const std::vector<std::string> commands = command_names(views);
  const std::vector<std::string> options = option_names(command);
  if (argv.size() < 2) {
    return fmt::format("no command given; wanted one of {}{}", fmt::join(commands, ", "),
                       help_hint(views.front()));
  }
  if (command.is_program() && !argv[1].starts_with("-")) {
    return fmt::format("\"{}\" is not a command; wanted one of {}.{}", escaped(argv[1]),
                       fmt::join(commands, ", "), did_you_mean(argv[1], commands));
  }
  const std::string unknown = unknown_option(argv, options);
  if (!unknown.empty()) {
    const std::string owner = command.is_program() ? "nf4bench" : command.name;
    return fmt::format("\"{}\" is not an option of {}.{}{}", escaped(unknown), owner,
                       did_you_mean(unknown, options), help_hint(command));
  }
  return escaped(problem, 400) + meaning_of(problem, command) + help_hint(command);
}

}  // namespace nf4bench::cli
