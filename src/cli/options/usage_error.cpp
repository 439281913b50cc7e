#include "cli/options/usage_error.hpp"

#include "base/text.hpp"
#include "cli/options/choices.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace nf4bench::cli {
namespace {

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  return names;
}

// Every spelling of every option, with its dashes.
std::vector<std::string> option_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

bool contains(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// The subcommand that `argv` names; the app itself when it names none.
const CLI::App& command_of(const CLI::App& app, const std::vector<std::string>& argv) {
  const auto all = app.get_subcommands([](const CLI::App*) { return true; });
  for (std::size_t i = 1; i < argv.size(); ++i) {
    for (const CLI::App* command : all) {
      if (command->get_name() == argv[i]) return *command;
    }
  }
  return app;
}

// The first word of `argv` that looks like an option and is none; empty when there is none.
std::string unknown_option(const std::vector<std::string>& argv,
                           const std::vector<std::string>& known) {
  for (std::size_t i = 1; i < argv.size(); ++i) {
    std::string word = argv[i].substr(0, argv[i].find('='));
    if (argv[i] == "--") break;
    if (word.starts_with("--") && !contains(known, word)) return word;
  }
  return "";
}

std::string help_hint(const CLI::App& app, const CLI::App& command) {
  const bool is_top = &command == &app;
  return fmt::format("; see nf4bench {}--help", is_top ? "" : command.get_name() + " ");
}

}  // namespace

std::string explain_usage_error(const CLI::App& app, const CLI::ParseError& error,
                                const std::vector<std::string>& argv) {
  const CLI::App& command = command_of(app, argv);
  const std::vector<std::string> commands = command_names(app);
  const std::vector<std::string> options = option_names(command);
  if (argv.size() < 2) {
    return fmt::format("no command given; wanted one of {}{}", fmt::join(commands, ", "),
                       help_hint(app, app));
  }
  if (&command == &app && !argv[1].starts_with("-")) {
    return fmt::format("\"{}\" is not a command; wanted one of {}.{}", escaped(argv[1]),
                       fmt::join(commands, ", "), did_you_mean(argv[1], commands));
  }
  const std::string unknown = unknown_option(argv, options);
  if (!unknown.empty()) {
    const std::string owner = &command == &app ? "nf4bench" : command.get_name();
    return fmt::format("\"{}\" is not an option of {}.{}{}", escaped(unknown), owner,
                       did_you_mean(unknown, options), help_hint(app, command));
  }
  return escaped(error.what(), 400) + help_hint(app, command);
}

}  // namespace nf4bench::cli
