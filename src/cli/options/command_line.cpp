#include "cli/options/command_line.hpp"

#include "base/error.hpp"
#include "cli/options/config_file.hpp"
#include "cli/options/environment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>

namespace nf4bench::cli {
namespace {

std::vector<const OptionView*> typed_options(const CommandView& command) {
  std::vector<const OptionView*> typed;
  for (const auto* all : {&command.options, &command.positionals}) {
    for (const OptionView& option : *all) {
      if (!option.given.empty()) typed.push_back(&option);
    }
  }
  return typed;
}

// The index of the command's name: the first word that is no option and no value of one.
std::size_t place_of_command(const std::vector<std::string>& argv) {
  std::size_t place = 1;
  while (place < argv.size() && argv[place].starts_with("-")) {
    place += argv[place] == "--config" ? 2 : 1;  // the only option there with a value
  }
  return std::min(place, argv.size() - 1);
}

std::vector<std::string> written_out(const std::vector<std::string>& argv,
                                     const std::vector<Setting>& settings) {
  std::vector<std::string> options;
  std::vector<std::string> positionals;
  for (const Setting& setting : settings) {
    auto& words = setting.option->is_positional() ? positionals : options;
    const std::vector<std::string> more = words_of(setting);
    words.insert(words.end(), more.begin(), more.end());
  }
  std::vector<std::string> whole = argv;
  const auto behind_command = static_cast<std::ptrdiff_t>(place_of_command(argv)) + 1;
  whole.insert(whole.begin() + behind_command, options.begin(), options.end());
  const bool has_dashes = std::find(argv.begin(), argv.end(), "--") != argv.end();
  if (!positionals.empty() && !has_dashes) whole.emplace_back("--");
  whole.insert(whole.end(), positionals.begin(), positionals.end());
  return whole;
}

// The value of --config, which the program and every command have.
std::string typed_config(const CommandView& program, const CommandView& command) {
  std::vector<std::string> paths;
  for (const CommandView* view : {&program, &command}) {
    for (const OptionView& option : view->options) {
      if (option.first_name() != "--config") continue;
      paths.insert(paths.end(), option.given.begin(), option.given.end());
    }
  }
  if (paths.size() > 1) {
    throw Error(ErrorKind::kUsage, "--config is given twice; there is one configuration file");
  }
  return paths.empty() ? "" : paths.front();
}

std::string config_path(const std::string& typed) {
  const char* const variable = std::getenv("NF4BENCH_CONFIG");
  return typed.empty() && variable != nullptr ? variable : typed;
}

bool names_option(const std::string& message, const std::string& name) {
  const std::size_t at = message.find("--" + name);
  if (at == std::string::npos) return false;
  const std::string_view rest = std::string_view(message).substr(at + 2 + name.size());
  return rest.empty() ||
         (rest[0] != '-' && std::islower(rest[0]) == 0);  // else a longer name begins like this
}

}  // namespace

const CommandView* given_command(const std::vector<CommandView>& views) {
  for (const CommandView& view : views) {
    if (!view.is_program() && view.is_given) return &view;
  }
  return nullptr;
}

std::vector<std::string> words_again(const CommandView& command,
                                     const std::vector<std::string>& left_out) {
  std::vector<std::string> words;
  for (const OptionView& option : command.options) {
    const std::string& name = option.names.back();  // the long one, if there is one
    if (std::find(left_out.begin(), left_out.end(), name) != left_out.end()) continue;
    for (const std::string& value : option.given)
      words.push_back(fmt::format("{}={}", name, value));
  }
  words.emplace_back("--");
  for (const OptionView& positional : command.positionals) {
    words.insert(words.end(), positional.given.begin(), positional.given.end());
  }
  return words;
}

CommandLine complete(const std::vector<std::string>& argv, const std::vector<CommandView>& views,
                     const TryToParse& try_to_parse) {
  const CommandView* const command = given_command(views);
  if (command == nullptr) return {.argv = argv, .settings = {}, .warnings = {}, .config = {}};
  const std::string path = config_path(typed_config(views.front(), *command));
  CommandLine line;
  line.config = path;
  SettledOptions settled = {.set = typed_options(*command), .active = typed_options(*command)};
  const auto add_layer = [&](const std::vector<Setting>& layer) {
    for (const Setting& setting : not_overruled(layer, settled)) {
      line.settings.push_back(setting);
      settled.set.push_back(setting.option);
      if (!words_of(setting).empty()) settled.active.push_back(setting.option);
    }
  };
  Environment environment = settings_from_environment(*command, try_to_parse);
  line.warnings = std::move(environment.warnings);
  add_layer(environment.settings);
  if (!path.empty()) add_layer(settings_from_file(path, views, *command, try_to_parse));
  line.argv = written_out(argv, line.settings);
  return line;
}

std::string origins_of(const std::string& message, const std::vector<Setting>& settings) {
  std::string origins;
  for (const Setting& setting : settings) {
    const auto is_quoted = [&](const std::string& value) {
      return message.find('"' + value + '"') != std::string::npos;
    };
    if (names_option(message, setting.name) ||
        std::any_of(setting.values.begin(), setting.values.end(), is_quoted)) {
      origins += fmt::format(" (--{} is set by {})", setting.name, setting.origin);
    }
  }
  return origins;
}

}  // namespace nf4bench::cli
