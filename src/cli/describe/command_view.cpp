#include "cli/describe/command_view.hpp"

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

OptionView view_of(const CLI::Option& option, const OptionFacts& facts) {
  OptionView view;
  view.names = names_of(option);
  if (option.get_positional()) view.positional = option.get_single_name();
  view.value = placeholder(option);
  view.help = on_one_line(option.get_description());
  view.group = option.get_group();
  view.facts = facts;
  view.is_required = option.get_required();
  return view;
}

}  // namespace

CommandView view_of(const CommandApp& command) {
  CommandView view;
  view.name = command.get_parent() == nullptr ? "" : command.get_name();
  view.summary = on_one_line(command.get_description());
  view.footer = command.get_footer();
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_group().empty()) continue;  // not for people
    auto& kind = option->get_positional() ? view.positionals : view.options;
    kind.push_back(view_of(*option, command.facts_of(option)));
  }
  return view;
}

std::vector<CommandView> views_of(const CommandApp& app) {
  std::vector<CommandView> views = {view_of(app)};
  for (const CommandApp* command : app.commands()) views.push_back(view_of(*command));
  return views;
}

}  // namespace nf4bench::cli
