#include "cli/command.hpp"

#include "base/nearest_names.hpp"
#include "base/parsed.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>

namespace nf4bench::cli {
namespace {

template <class Number>
Number number_in(const Option& option, const std::string& word) {
  const auto number = parsed<Number>(word);
  const auto value = static_cast<double>(number.value_or(Number()));
  if (number && value >= option.low && value <= option.high) return *number;
  const char* const kind = std::is_integral_v<Number> ? "an integer" : "a number";
  const bool has_range = option.high < std::numeric_limits<double>::infinity();
  throw Error(ErrorKind::kUsage, "{}: found \"{}\", wanted {}{}", option.name(), escaped(word),
              kind, has_range ? fmt::format(" from {} to {}", option.low, option.high) : "");
}

template <class Number>
auto take_number(Number& target) {
  return [&target](const Option& option, const Words& words) {
    target = number_in<Number>(option, words.back());
  };
}

}  // namespace

Binding::Binding(bool& target)
    : value(Value::kNone),
      take([&target](const Option&, const Words& words) { target = words.back() == "true"; }) {}

Binding::Binding(int& target)
    : value(Value::kInteger), take(take_number(target)), preset(fmt::format("{}", target)) {}

Binding::Binding(std::uint64_t& target)
    : value(Value::kInteger), take(take_number(target)), preset(fmt::format("{}", target)) {}

Binding::Binding(double& target)
    : value(Value::kNumber), take(take_number(target)), preset(fmt::format("{}", target)) {}

Binding::Binding(std::string& target)
    : take([&target](const Option&, const Words& words) { target = words.back(); }),
      preset(target) {}

Binding::Binding(Words& targets)
    : count(Count::kRepeated),
      take([&targets](const Option&, const Words& words) { targets = words; }) {}

Option& Option::suggests(Words words) {
  binding.choices = std::move(words);
  return *this;
}

Option& Option::one_of(Words words) {
  binding.is_choice = true;
  return suggests(std::move(words));
}

Option& Option::between(double lowest, double highest) {
  low = lowest;
  high = highest;
  return *this;
}

Option& Option::excludes(const std::string& name) {
  excluded.push_back(name);
  return *this;
}

Option& Option::needs(const std::string& name) {
  needed.push_back(name);
  return *this;
}

Option& Option::variable(const std::string& name) {
  own_variable = name;
  return *this;
}

bool Option::has_name(std::string_view name) const {
  return std::ranges::find(names, name) != names.end();
}

const std::string& Option::name() const {
  const auto is_long = [](const std::string& each) { return each.starts_with("--"); };
  const auto found = std::ranges::find_if(names, is_long);
  return found == names.end() ? names.front() : *found;
}

Words Option::long_names() const {
  if (is_positional()) return names;
  Words all;
  for (const std::string& name : names) {
    if (name.starts_with("--")) all.push_back(name.substr(2));
  }
  return all;
}

void Option::take(const Words& words) const {
  if (is_flag()) return binding.take(*this, {is_on(name(), words.back()) ? "true" : "false"});
  for (const std::string& word : words) {
    if (!binding.is_choice || std::ranges::find(binding.choices, word) != binding.choices.end()) {
      continue;
    }
    throw not_one_of(name(), word, binding.choices);
  }
  binding.take(*this, words);
}

Command::Command(std::string name_of, std::string summary_of, std::string footer_of)
    : name(std::move(name_of)), summary(std::move(summary_of)), footer(std::move(footer_of)) {
  add(
      "-h,--help", [](bool) {}, "Print this help message and exit", kCommandLineOnly);
}

Option& Command::add(std::string_view spec, const Binding& binding, std::string help,
                     unsigned traits) {
  const std::size_t blank = std::min(spec.find(' '), spec.size());
  Option& option = options.emplace_back(
      Option{.names = split(spec.substr(0, blank), ','),
             .value = std::string(spec.substr(std::min(blank + 1, spec.size()))),
             .help = std::move(help),
             .group = group,
             .traits = traits,
             .binding = binding});
  if (const std::size_t at = option.help.find("[=]"); at != std::string::npos) {
    option.help.replace(at + 1, 1, binding.preset);
  }
  if (option.is(kList)) option.binding.count = Option::Count::kList;
  return option;
}

std::vector<const Option*> Command::positionals() const {
  std::vector<const Option*> found;
  for (const Option& each : options) {
    if (each.is_positional() && !each.is(kHidden)) found.push_back(&each);
  }
  return found;
}

std::vector<const Option*> Command::shown_options() const {
  std::vector<const Option*> found;
  for (const Option& each : options) {
    if (!each.is_positional() && !each.is(kHidden)) found.push_back(&each);
  }
  return found;
}

void warn(const std::string& warning) {
  write_stderr(fmt::format("nf4bench: warning: {}\n", warning));
}

bool is_on(const std::string& what, const std::string& word) {
  for (const char* const yes : {"true", "1", "yes", "on"}) {
    if (word == yes) return true;
  }
  for (const char* const no : {"false", "0", "no", "off"}) {
    if (word == no) return false;
  }
  throw Error(ErrorKind::kUsage,
              "{}: found \"{}\", wanted 1, true, yes or on, or else 0, false, no or off", what,
              escaped(word));
}

Words split(std::string_view text, char separator) {
  Words parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

}  // namespace nf4bench::cli
