#include "cli/describe/command_view.hpp"

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

OptionView view_of(const CLI::Option& option, const OptionFacts& facts) {
  OptionView view;
  for (const std::string& name : option.get_snames()) view.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) view.names.push_back("--" + name);
  if (option.get_positional()) view.positional = option.get_single_name();
  view.value = placeholder(option);
  view.help = on_one_line(option.get_description());
  view.group = option.get_group();
  view.facts = facts;
  return view;
}

CommandView view_of(const CommandApp& command, bool is_program) {
  CommandView view;
  if (!is_program) view.name = command.get_name();
  view.summary = is_program ? on_one_line(command.get_description()) : command.get_description();
  view.footer = command.get_footer();
  for (const CLI::Option* option : command.get_options()) {
    auto& kind = option->get_positional() ? view.positionals : view.options;
    kind.push_back(view_of(*option, command.facts_of(option)));
  }
  return view;
}

}  // namespace

std::vector<CommandView> views_of(const CommandApp& app) {
  std::vector<CommandView> views = {view_of(app, true)};
  for (const CommandApp* command : app.commands()) views.push_back(view_of(*command, false));
  return views;
}

}  // namespace nf4bench::cli
