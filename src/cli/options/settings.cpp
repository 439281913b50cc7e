#include "cli/options/settings.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "cli/options/choices.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace nf4bench::cli {
namespace {

template <class Items, class Item>
bool contains(const Items& items, const Item& item) {
  return std::find(items.begin(), items.end(), item) != items.end();
}

// All options of `command`, in the order in which messages name them.
std::vector<const OptionView*> options_of(const CommandView& command) {
  std::vector<const OptionView*> all;
  for (const OptionView& positional : command.positionals) all.push_back(&positional);
  for (const OptionView& option : command.options) all.push_back(&option);
  return all;
}

std::string without_dashes(const std::string& long_name) {
  return long_name.substr(2);
}

void check_choices(const Setting& setting) {
  const OptionFacts& facts = setting.option->facts;
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

std::vector<SettableName> settable_names(const CommandView& command) {
  std::vector<SettableName> names;
  for (const OptionView* option : options_of(command)) {
    if (!option->is_settable) continue;
    for (const std::string& name : option->names) {
      if (name.starts_with("--")) names.push_back({without_dashes(name), option});
    }
    if (option->is_positional()) names.push_back({option->positional, option});
  }
  return names;
}

bool is_command_line_only(const CommandView& command, const std::string& name) {
  const auto& options = command.options;
  return std::any_of(options.begin(), options.end(), [&](const OptionView& option) {
    return !option.is_settable && contains(option.names, "--" + name);
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

std::vector<std::string> words_of(const Setting& setting) {
  if (setting.option->is_flag()) {
    if (setting.values != std::vector<std::string>{"true"}) return {};
    return {"--" + setting.name};
  }
  std::vector<std::string> words;
  for (const std::string& value : setting.values) {
    const bool is_positional = setting.option->is_positional();
    words.push_back(is_positional ? value : fmt::format("--{}={}", setting.name, value));
  }
  return words;
}

void check(const Setting& setting, const CommandView& command, const TryToParse& try_to_parse) {
  check_choices(setting);
  std::vector<std::string> argv = {"nf4bench", command.name};
  if (setting.option->is_positional()) argv.emplace_back("--");
  const std::vector<std::string> words = words_of(setting);
  argv.insert(argv.end(), words.begin(), words.end());
  const std::string problem = try_to_parse(argv);
  if (problem.empty()) return;
  throw Error(ErrorKind::kUsage, fmt::format("{}: {}", setting.origin, escaped(problem, 400)));
}

std::vector<Setting> not_overruled(const std::vector<Setting>& layer, const SettledOptions& above) {
  std::vector<Setting> kept;
  for (const Setting& setting : layer) {
    const bool is_excluded =
        std::any_of(above.active.begin(), above.active.end(), [&](const OptionView* option) {
          return contains(setting.option->excluded, option->first_name());
        });
    if (!is_excluded && !contains(above.set, setting.option)) kept.push_back(setting);
  }
  return kept;
}

}  // namespace nf4bench::cli
