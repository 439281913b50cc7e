#include "cli/options/environment.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "cli/options/choices.hpp"
#include "cli/options/command_app.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <unistd.h>

namespace nf4bench::cli {
namespace {

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) {
    return c == '-' ? '_' : static_cast<char>(std::toupper(c));
  });
  return text;
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) {
    return c == '_' ? '-' : static_cast<char>(std::tolower(c));
  });
  return text;
}

std::string prefix_of(const std::string& command) {
  return "NF4BENCH_" + upper(command) + "_";
}

std::string flag_value(const std::string& variable, const std::string& text) {
  for (const char* yes : {"1", "true", "yes", "on"}) {
    if (text == yes) return "true";
  }
  for (const char* no : {"0", "false", "no", "off"}) {
    if (text == no) return "false";
  }
  throw Error(
      ErrorKind::kUsage,
      fmt::format("{}: found \"{}\", wanted 1, true, yes or on, or else 0, false, no or off",
                  variable, escaped(text)));
}

std::vector<std::string> values_in(const std::string& variable, const std::string& text,
                                   const OptionFacts& facts) {
  if (facts.value == OptionFacts::Value::kNone) return {flag_value(variable, text)};
  const bool is_repeated = facts.count == OptionFacts::Count::kRepeated;
  return values_of(is_repeated ? split(text, ';') : std::vector{text}, facts);
}

// Names of variables that are set and begin with `prefix`.
std::vector<std::string> variables_with(const std::string& prefix) {
  std::vector<std::string> names;
  for (char** each = environ; each != nullptr && *each != nullptr; ++each) {
    const std::string name = std::string(*each).substr(0, std::string_view(*each).find('='));
    if (name.starts_with(prefix)) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

std::string variable_of(const std::string& command, const std::string& option) {
  return prefix_of(command) + upper(option);
}

Environment read_environment(CommandApp& command) {
  const std::string& owner = command.get_name();
  Environment environment;
  std::vector<std::string> known;
  const auto look = [&](const SettableName& each, const std::string& variable) {
    known.push_back(variable);
    const char* const text = std::getenv(variable.c_str());
    const bool is_set = std::any_of(environment.settings.begin(), environment.settings.end(),
                                    [&](const Setting& s) { return s.option == each.option; });
    if (text == nullptr || *text == '\0' || is_set) return;
    environment.settings.push_back({.option = each.option,
                                    .name = each.name,
                                    .values = values_in(variable, text, *each.facts),
                                    .origin = variable});
  };
  const std::vector<SettableName> names = settable_names(command);
  for (const SettableName& each : names) look(each, variable_of(owner, each.name));
  for (const SettableName& each : names) {
    const std::string& variable = each.facts->variable;
    if (!variable.empty()) look(each, variable);
  }
  for (const std::string& variable : variables_with(prefix_of(owner))) {
    if (std::find(known.begin(), known.end(), variable) != known.end()) continue;
    const std::string option = lower(variable.substr(prefix_of(owner).size()));
    if (is_command_line_only(command, option)) {
      environment.warnings.push_back(
          fmt::format("{} in the environment is passed over: --{} is taken from the command line "
                      "alone",
                      escaped(variable), escaped(option)));
      continue;
    }
    environment.warnings.push_back(fmt::format("{} in the environment names no option of {}.{}",
                                               escaped(variable), owner,
                                               did_you_mean(variable, known)));
  }
  return environment;
}

}  // namespace nf4bench::cli
