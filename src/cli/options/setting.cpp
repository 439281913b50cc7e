#include "cli/options/setting.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "cli/options/choices.hpp"
#include "cli/options/command_app.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

namespace nf4bench::cli {
namespace {

void check_choices(const Setting& setting, const OptionFacts& facts) {
  if (!facts.takes_only_choices) return;
  for (const std::string& value : setting.values) {
    if (std::ranges::find(facts.choices, value) != facts.choices.end()) continue;
    throw Error(ErrorKind::kUsage,
                fmt::format("{}: {}: \"{}\" is not one of {}.{}", setting.origin, setting.name,
                            escaped(value), fmt::join(facts.choices, ", "),
                            did_you_mean(value, facts.choices)));
  }
}

// Gives the option these values in place of those that it has.
void give(CLI::Option& option, const std::vector<std::string>& values, const std::string& origin) {
  try {
    option.clear();
    option.add_result(values);
    option.run_callback();
  } catch (const CLI::ParseError& error) {
    throw Error(ErrorKind::kUsage, fmt::format("{}: {}", origin, escaped(error.what(), 400)));
  } catch (const Error& error) {
    throw Error(error.kind(), fmt::format("{}: {}", origin, error.what()));
  }
}

bool names_option(const std::string& message, const std::string& name) {
  const std::size_t at = message.find("--" + name);
  if (at == std::string::npos) return false;
  const std::string_view rest = std::string_view(message).substr(at + 2 + name.size());
  return rest.empty() ||
         (rest[0] != '-' && std::islower(rest[0]) == 0);  // else a longer name begins like this
}

}  // namespace

bool is_active(const CLI::Option& option) {
  return option.count() > 0 && (option.get_expected_max() > 0 || option.as<bool>());
}

std::vector<SettableName> settable_names(CommandApp& command) {
  std::vector<SettableName> names;
  for (const bool positional : {true, false}) {
    for (CLI::Option* const option : command.get_options()) {
      if (!option->get_configurable() || option->get_positional() != positional) continue;
      const OptionFacts* const facts = &command.facts_of(option);
      if (positional) names.push_back({option->get_single_name(), option, facts});
      for (const std::string& name : option->get_lnames()) names.push_back({name, option, facts});
    }
  }
  return names;
}

bool is_command_line_only(const CommandApp& command, const std::string& name) {
  const CLI::Option* const option = command.get_option_no_throw("--" + name);
  return option != nullptr && !option->get_configurable();
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::size_t start = 0;
  while (true) {
    const std::size_t end = text.find(separator, start);
    parts.push_back(text.substr(start, end - start));
    if (end == std::string::npos) return parts;
    start = end + 1;
  }
}

std::vector<std::string> values_of(const std::vector<std::string>& texts,
                                   const OptionFacts& facts) {
  std::vector<std::string> values;
  for (const std::string& text : texts) {
    const bool is_list = facts.count == OptionFacts::Count::kList;
    const std::vector<std::string> parts = is_list ? split(text, ',') : std::vector{text};
    values.insert(values.end(), parts.begin(), parts.end());
  }
  std::erase(values, "");
  return values;
}

std::vector<Setting> fill(CommandApp& command, const std::vector<Setting>& layer) {
  std::vector<Setting> taken;
  std::vector<CLI::Option*> active;
  for (CLI::Option* const option : command.get_options()) {
    if (is_active(*option)) active.push_back(option);
  }
  for (const Setting& setting : layer) {
    CLI::Option& option = *setting.option;
    check_choices(setting, command.facts_of(&option));
    const bool is_excluded = std::ranges::any_of(
        active, [&](CLI::Option* other) { return option.get_excludes().contains(other); });
    if (setting.values.empty() || is_excluded) continue;
    const std::vector<std::string> above = option.results();
    give(option, setting.values, setting.origin);
    if (above.empty()) {
      taken.push_back(setting);
    } else {
      give(option, above, setting.origin);
    }
  }
  return taken;
}

std::vector<std::string> words_of(const Setting& setting) {
  if (setting.option->get_expected_max() == 0) {
    return setting.values.front() == "true" ? std::vector{"--" + setting.name}
                                            : std::vector<std::string>{};
  }
  if (setting.option->get_positional()) return setting.values;
  std::vector<std::string> words;
  for (const std::string& value : setting.values) {
    words.push_back(fmt::format("--{}={}", setting.name, value));
  }
  return words;
}

std::string origins_of(const std::string& message, const std::vector<Setting>& settings) {
  std::string origins;
  for (const Setting& setting : settings) {
    const auto is_quoted = [&](const std::string& value) {
      return message.find('"' + value + '"') != std::string::npos;
    };
    if (names_option(message, setting.name) || std::ranges::any_of(setting.values, is_quoted)) {
      origins += fmt::format(" (--{} is set by {})", setting.name, setting.origin);
    }
  }
  return origins;
}

}  // namespace nf4bench::cli
