#include "cli/options/settings.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "cli/options/choices.hpp"
#include "cli/options/command_app.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace nf4bench::cli {
namespace {

template <class Items, class Item>
bool contains(const Items& items, const Item& item) {
  return std::find(items.begin(), items.end(), item) != items.end();
}

bool is_flag(const Setting& setting, const CommandApp& command) {
  return command.facts_of(setting.option).value == OptionFacts::Value::kNone;
}

void check_choices(const Setting& setting, const OptionFacts& facts) {
  if (!facts.takes_only_choices) return;
  for (const std::string& value : setting.values) {
    if (contains(facts.choices, value)) continue;
    throw Error(ErrorKind::kUsage,
                fmt::format("{}: {}: \"{}\" is not one of {}.{}", setting.origin, setting.name,
                            escaped(value), fmt::join(facts.choices, ", "),
                            did_you_mean(value, facts.choices)));
  }
}

}  // namespace

std::vector<SettableName> settable_names(const CommandApp& command) {
  std::vector<SettableName> names;
  for (const CLI::Option* option : command.get_options()) {
    if (!option->get_configurable()) continue;
    for (const std::string& name : option->get_lnames()) names.push_back({name, option});
    if (option->get_positional()) names.push_back({option->get_single_name(), option});
  }
  return names;
}

bool is_command_line_only(const CommandApp& command, const std::string& name) {
  const auto options = command.get_options();
  return std::any_of(options.begin(), options.end(), [&](const CLI::Option* option) {
    return !option->get_configurable() && option->check_lname(name);
  });
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

std::vector<std::string> words_of(const Setting& setting, const CommandApp& command) {
  if (is_flag(setting, command)) {
    if (setting.values != std::vector<std::string>{"true"}) return {};
    return {"--" + setting.name};
  }
  std::vector<std::string> words;
  for (const std::string& value : setting.values) {
    const bool is_positional = setting.option->get_positional();
    words.push_back(is_positional ? value : fmt::format("--{}={}", setting.name, value));
  }
  return words;
}

void check(const Setting& setting, const CommandApp& command, const TryToParse& try_to_parse) {
  check_choices(setting, command.facts_of(setting.option));
  std::vector<std::string> argv = {"nf4bench", command.get_name()};
  if (setting.option->get_positional()) argv.emplace_back("--");
  const std::vector<std::string> words = words_of(setting, command);
  argv.insert(argv.end(), words.begin(), words.end());
  try {
    try_to_parse(argv);
  } catch (
      const CLI::RequiredError&) {  // NOLINT(bugprone-empty-catch): others may be set elsewhere
  } catch (const CLI::RequiresError&) {  // NOLINT(bugprone-empty-catch)
  } catch (const CLI::ParseError& error) {
    throw Error(ErrorKind::kUsage,
                fmt::format("{}: {}", setting.origin, escaped(error.what(), 400)));
  }
}

std::vector<Setting> not_overruled(const std::vector<Setting>& layer, const SettledOptions& above) {
  std::vector<Setting> kept;
  for (const Setting& setting : layer) {
    const auto excluded = setting.option->get_excludes();
    const bool is_excluded =
        std::any_of(excluded.begin(), excluded.end(),
                    [&](const CLI::Option* option) { return contains(above.active, option); });
    if (!is_excluded && !contains(above.set, setting.option)) kept.push_back(setting);
  }
  return kept;
}

}  // namespace nf4bench::cli
