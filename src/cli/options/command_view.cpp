#include "cli/options/command_view.hpp"

#include "cli/options/command_app.hpp"

#include <algorithm>

namespace nf4bench::cli {
namespace {

std::string on_one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

// What the help shows for a value, without the signs of repetition.
std::string placeholder(const CLI::Option& option) {
  const std::string& text = option.get_option_text();
  return text.substr(0, text.find_first_of(" ,"));
}

std::vector<std::string> names_of(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  return names;
}

std::string first_name_of(const CLI::Option& option) {
  return option.get_positional() ? option.get_single_name() : names_of(option).front();
}

OptionView view_of(const CLI::Option& option, const OptionFacts& facts) {
  OptionView view;
  view.names = names_of(option);
  if (option.get_positional()) view.positional = option.get_single_name();
  view.value = placeholder(option);
  view.help = on_one_line(option.get_description());
  view.group = option.get_group();
  view.facts = facts;
  view.is_settable = option.get_configurable();
  for (const CLI::Option* other : option.get_excludes()) {
    view.excluded.push_back(first_name_of(*other));
  }
  view.given = option.results();
  return view;
}

CommandView view_of(const CommandApp& command) {
  CommandView view;
  view.footer = command.get_footer();
  view.is_given = command.parsed();
  for (const CLI::Option* option : command.get_options()) {
    auto& kind = option->get_positional() ? view.positionals : view.options;
    kind.push_back(view_of(*option, command.facts_of(option)));
  }
  return view;
}

CommandView view_of_program(const CommandApp& app) {
  CommandView view = view_of(app);
  view.summary = on_one_line(app.get_description());
  return view;
}

CommandView view_of_command(const CommandApp& command) {
  CommandView view = view_of(command);
  view.name = command.get_name();
  view.summary = command.get_description();
  return view;
}

}  // namespace

std::vector<CommandView> views_of(const CommandApp& app) {
  std::vector<CommandView> views = {view_of_program(app)};
  for (const CommandApp* command : app.commands()) views.push_back(view_of_command(*command));
  return views;
}

}  // namespace nf4bench::cli
