#include "base/input_file.hpp"
#include "base/nearest_names.hpp"
#include "base/text.hpp"
#include "cli/settings.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>

namespace nf4bench::cli {
namespace {

// The entries of a table by their lines: in the order of the text, which the library does not keep.
using Entries = std::multimap<int, std::pair<std::string, const toml::node*>>;

Entries entries_of(const toml::table& table) {
  Entries entries;
  for (const auto& [key, node] : table) {
    entries.insert(
        {static_cast<int>(node.source().begin.line), {std::string(std::string_view(key)), &node}});
  }
  return entries;
}

class ConfigReader {
 public:
  ConfigReader(const std::string& path, const std::vector<Command>& commands)
      : path_(path), commands_(commands) {}

  std::vector<Section> read(std::string_view text);

 private:
  [[noreturn]] void fail(int line, const std::string& problem) const {
    throw Error(ErrorKind::kUsage, "{}:{}: {}", escaped(path_), line, problem);
  }
  [[noreturn]] void refuse_section(int line, const std::string& name) const;
  Section section(const Command& command, const toml::table& table) const;
  Setting setting(const Command& command, int line, const std::string& key,
                  const toml::node& node) const;
  std::string word(int line, const std::string& key, const toml::node& node,
                   const Option& option) const;

  const std::string& path_;
  const std::vector<Command>& commands_;
};

std::string text_of(const toml::node& node) {
  if (const auto* const text = node.as_string()) return text->get();
  if (const auto* const integer = node.as_integer()) return fmt::format("{}", integer->get());
  if (const auto* const number = node.as_floating_point()) return fmt::format("{}", number->get());
  return node.as_boolean()->get() ? "true" : "false";
}

std::string describe(const toml::node& node) {
  if (node.is_string()) return fmt::format("the string \"{}\"", escaped(text_of(node)));
  if (node.is_integer()) return "the integer " + text_of(node);
  if (node.is_floating_point()) return "the number " + text_of(node);
  return node.is_boolean() ? text_of(node) : "an array";
}

const char* wanted(const Option& option) {
  using Value = Option::Value;
  if (option.is_flag()) return "true or false";
  if (option.binding.value == Value::kInteger) return "an integer";
  if (option.binding.value == Value::kNumber) return "a number";
  if (option.is_repeatable()) return "a string or an array of strings";
  return option.is(kMayBeNumber) ? "a number or a string" : "a string, in quotes";
}

bool fits(const toml::node& node, const Option& option) {
  using Value = Option::Value;
  const bool is_text = option.binding.value == Value::kText;
  if (option.is_flag()) return node.is_boolean();
  if (option.binding.value == Value::kInteger) return node.is_integer();
  if (node.is_string()) return is_text;
  return node.is_number() && (!is_text || option.is(kMayBeNumber));
}

void ConfigReader::refuse_section(int line, const std::string& name) const {
  Words names;
  for (const Command& command : commands_) {
    if (!command.name.empty()) names.push_back(command.name);
  }
  fail(line, fmt::format("[{}] is no section; sections have the names of commands: {}.{}",
                         escaped(name), fmt::join(names, ", "), did_you_mean(name, names)));
}

std::string ConfigReader::word(int line, const std::string& key, const toml::node& node,
                               const Option& option) const {
  const auto* const number = node.as_floating_point();
  if (node.is_table()) {
    fail(line, escaped(key) +
                   ": no option takes tables; the header of a section has one pair of "
                   "brackets");
  }
  if (node.is_date() || node.is_time() || node.is_date_time()) {
    fail(line, escaped(key) + ": no option takes a date or a time; a string stands in quotes");
  }
  if (number != nullptr && !std::isfinite(number->get())) {
    fail(line, escaped(key) + ": wanted a finite number");
  }
  if (fits(node, option)) return text_of(node);
  fail(line, fmt::format("{}: found {}, wanted {}", escaped(key), describe(node), wanted(option)));
}

Setting ConfigReader::setting(const Command& command, int line, const std::string& key,
                              const toml::node& node) const {
  Words names;
  for (const Option& option : command.options) {
    const Words own = option.long_names();
    const bool is_it = std::ranges::find(own, key) != own.end();
    if (is_it && option.is(kCommandLineOnly)) {
      fail(line, fmt::format("--{} of {} is taken from the command line alone", escaped(key),
                             command.name));
    }
    if (!is_it) {
      if (!option.is(kCommandLineOnly)) names.insert(names.end(), own.begin(), own.end());
      continue;
    }
    Setting found = {&option, key, {}, fmt::format("{}:{}", escaped(path_), line)};
    const toml::array* const array = option.is_repeatable() ? node.as_array() : nullptr;
    if (array == nullptr) found.words.push_back(word(line, key, node, option));
    for (std::size_t i = 0; array != nullptr && i < array->size(); ++i) {
      found.words.push_back(word(line, key, *array->get(i), option));
    }
    if (option.is_list()) found.words = split(fmt::format("{}", fmt::join(found.words, ",")), ',');
    std::erase(found.words, "");
    return found;
  }
  fail(line, fmt::format("{} is no option of {}.{} \"nf4bench {} --help\" lists them", escaped(key),
                         command.name, did_you_mean(key, names), command.name));
}

Section ConfigReader::section(const Command& command, const toml::table& table) const {
  Section section = {&command, {}};
  for (const auto& [line, entry] : entries_of(table)) {
    if (entry.second->is_table()) refuse_section(line, command.name + "." + entry.first);
    Setting found = setting(command, line, entry.first, *entry.second);
    if (std::ranges::find(section.second, found.option, &Setting::option) != section.second.end()) {
      fail(line, fmt::format("{} sets an option that is set above under its other name",
                             escaped(entry.first)));
    }
    if (!found.words.empty()) section.second.push_back(std::move(found));
  }
  return section;
}

std::vector<Section> ConfigReader::read(std::string_view text) {
  // Each dot of a key is one more table inside another, which the library frees by recursion.
  constexpr std::ptrdiff_t kMostDots = 2000;
  if (std::ranges::count(text, '.') > kMostDots) {
    throw Error(ErrorKind::kUsage, "{}: has more than {} dots, which no configuration needs",
                escaped(path_), kMostDots);
  }
  toml::table root;
  try {
    root = toml::parse(text, path_);
  } catch (const toml::parse_error& error) {
    fail(static_cast<int>(error.source().begin.line),
         "not TOML: " + escaped(error.description(), 400));
  }
  std::vector<Section> sections;
  for (const auto& [line, entry] : entries_of(root)) {
    const auto& [name, node] = entry;
    const auto command = std::ranges::find(commands_, name, &Command::name);
    if (node->is_array_of_tables()) {
      fail(line, escaped(name) + ": the header of a section has one pair of brackets");
    }
    if (!node->is_table()) {
      fail(line, fmt::format("{} stands in no section; put it under the name of the command that "
                             "has this option, as in [run]",
                             escaped(name)));
    }
    if (name.empty() || command == commands_.end()) refuse_section(line, name);
    sections.push_back(section(*command, *node->as_table()));
  }
  return sections;
}

}  // namespace

std::vector<Section> parse_config(std::string_view text, const std::string& path,
                                  const std::vector<Command>& commands) {
  return ConfigReader(path, commands).read(text);
}

std::vector<Section> read_config(const std::string& path, const std::vector<Command>& commands) {
  constexpr std::uint64_t kMostBytes = 1 << 20;  // a larger file is no configuration
  std::string text;
  try {
    text = read_input(path, kMostBytes);
  } catch (const Error& error) {
    throw Error(ErrorKind::kUsage, "--config: {}", error.what());
  }
  return parse_config(text, path, commands);
}

}  // namespace nf4bench::cli
