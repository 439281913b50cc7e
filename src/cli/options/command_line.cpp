#include "cli/options/command_line.hpp"

#include "cli/options/command_app.hpp"
#include "cli/options/config_file.hpp"
#include "cli/options/environment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>

namespace nf4bench::cli {
namespace {

std::vector<const CLI::Option*> typed_options(const CommandApp& command) {
  return command.get_options([](const CLI::Option* option) { return option->count() > 0; });
}

// Where the command's name stands: the first word that is neither an option nor one's value.
std::size_t place_of_command(const std::vector<std::string>& argv) {
  std::size_t place = 1;
  while (place < argv.size() && argv[place].starts_with("-")) {
    place += argv[place] == "--config" ? 2 : 1;  // the one option there that has a value
  }
  return std::min(place, argv.size() - 1);
}

std::vector<std::string> written_out(const std::vector<std::string>& argv,
                                     const std::vector<Setting>& settings,
                                     const CommandApp& command) {
  std::vector<std::string> options;
  std::vector<std::string> positionals;
  for (const Setting& setting : settings) {
    auto& words = setting.option->get_positional() ? positionals : options;
    const std::vector<std::string> more = words_of(setting, command);
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

std::string config_path(const std::string& typed) {
  const char* const variable = std::getenv("NF4BENCH_CONFIG");
  return typed.empty() && variable != nullptr ? variable : typed;
}

bool names_option(const std::string& message, const std::string& name) {
  const std::size_t at = message.find("--" + name);
  if (at == std::string::npos) return false;
  const std::string_view rest = std::string_view(message).substr(at + 2 + name.size());
  return rest.empty() || (rest[0] != '-' && std::islower(rest[0]) == 0);  // no longer name
}

}  // namespace

CommandLine complete(const std::vector<std::string>& argv, const CommandApp& app,
                     const CommandApp& command, const std::string& config,
                     const TryToParse& try_to_parse) {
  CommandLine line;
  SettledOptions settled = {.set = typed_options(command), .active = typed_options(command)};
  const auto add_layer = [&](const std::vector<Setting>& layer) {
    for (const Setting& setting : not_overruled(layer, settled)) {
      line.settings.push_back(setting);
      settled.set.push_back(setting.option);
      if (!words_of(setting, command).empty()) settled.active.push_back(setting.option);
    }
  };
  Environment environment = settings_from_environment(command, try_to_parse);
  line.warnings = std::move(environment.warnings);
  add_layer(environment.settings);
  const std::string path = config_path(config);
  if (!path.empty()) add_layer(settings_from_file(path, app, command, try_to_parse));
  line.argv = written_out(argv, line.settings, command);
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
