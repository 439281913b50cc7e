#include "cli/options/config_file.hpp"

#include "base/error.hpp"
#include "base/files/input_file.hpp"
#include "base/text.hpp"
#include "cli/options/choices.hpp"
#include "cli/options/command_app.hpp"
#include "cli/options/toml.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>

namespace nf4bench::cli {
namespace {

constexpr std::uint64_t kMostBytes = 1 << 20;  // a larger file is no configuration

std::string read_text(const std::string& path) {
  try {
    return read_input(path, kMostBytes);
  } catch (const Error& error) {
    throw Error(ErrorKind::kUsage, fmt::format("--config: {}", error.what()));
  }
}

class ConfigReader {
 public:
  ConfigReader(const std::string& path, CommandApp& app) : path_(path), app_(app) {}

  std::vector<Section> read() const;

 private:
  [[noreturn]] void fail(int line, const std::string& problem) const;
  CommandApp& section(const std::vector<std::string>& path, int line) const;
  CommandApp& section_of(const TomlEntry& entry) const;
  Setting setting(const TomlEntry& entry, CommandApp& command) const;
  std::vector<std::string> values(const TomlEntry& entry, const OptionFacts& facts) const;
  std::string value(const TomlEntry& entry, const TomlValue& value, const OptionFacts& facts) const;

  const std::string& path_;
  CommandApp& app_;
};

void ConfigReader::fail(int line, const std::string& problem) const {
  throw Error(ErrorKind::kUsage, fmt::format("{}:{}: {}", escaped(path_), line, problem));
}

CommandApp& ConfigReader::section(const std::vector<std::string>& path, int line) const {
  std::vector<std::string> names;
  for (CommandApp* const command : app_.commands()) {
    names.push_back(command->get_name());
    if (path == std::vector{names.back()}) return *command;
  }
  const std::string name = fmt::format("{}", fmt::join(path, "."));
  fail(line, fmt::format("[{}] is no section; sections have the names of commands: {}.{}",
                         escaped(name), fmt::join(names, ", "), did_you_mean(name, names)));
}

CommandApp& ConfigReader::section_of(const TomlEntry& entry) const {
  if (entry.path.size() > 1) {
    return section({entry.path.begin(), entry.path.end() - 1}, entry.line);
  }
  fail(entry.line, fmt::format("{} stands in no section; put it under the name of the command that "
                               "has this option, as in [run]",
                               escaped(entry.path.front())));
}

const char* wanted(const OptionFacts& facts) {
  switch (facts.value) {
    case OptionFacts::Value::kNone:
      return "true or false";
    case OptionFacts::Value::kInteger:
      return "an integer";
    case OptionFacts::Value::kNumber:
      return "a number";
    case OptionFacts::Value::kText:
      break;
  }
  if (facts.count != OptionFacts::Count::kOnce) return "a string or an array of strings";
  return facts.may_be_number ? "a number or a string" : "a string, in quotes";
}

bool fits(const TomlValue& value, const OptionFacts& facts) {
  using Kind = TomlValue::Kind;
  const bool is_number = value.kind == Kind::kInteger || value.kind == Kind::kFloat;
  switch (facts.value) {
    case OptionFacts::Value::kNone:
      return value.kind == Kind::kBoolean;
    case OptionFacts::Value::kInteger:
      return value.kind == Kind::kInteger;
    case OptionFacts::Value::kNumber:
      return is_number;
    case OptionFacts::Value::kText:
      return value.kind == Kind::kString || (facts.may_be_number && is_number);
  }
  return false;
}

std::string ConfigReader::value(const TomlEntry& entry, const TomlValue& value,
                                const OptionFacts& facts) const {
  if (fits(value, facts)) return value.text;
  fail(entry.line, fmt::format("{}: found {}, wanted {}", escaped(entry.path.back()),
                               describe(value), wanted(facts)));
}

std::vector<std::string> ConfigReader::values(const TomlEntry& entry,
                                              const OptionFacts& facts) const {
  std::vector<std::string> texts;
  if (entry.value.kind == TomlValue::Kind::kArray && facts.count != OptionFacts::Count::kOnce) {
    for (const TomlValue& item : entry.value.items) texts.push_back(value(entry, item, facts));
  } else {
    texts.push_back(value(entry, entry.value, facts));
  }
  return values_of(texts, facts);
}

Setting ConfigReader::setting(const TomlEntry& entry, CommandApp& command) const {
  const std::string& key = entry.path.back();
  std::vector<std::string> names;
  for (const SettableName& each : settable_names(command)) {
    if (each.name == key) {
      return {.option = each.option,
              .name = key,
              .values = values(entry, *each.facts),
              .origin = fmt::format("{}:{}", escaped(path_), entry.line)};
    }
    names.push_back(each.name);
  }
  if (is_command_line_only(command, key)) {
    fail(entry.line, fmt::format("--{} of {} is taken from the command line alone", escaped(key),
                                 command.get_name()));
  }
  fail(entry.line,
       fmt::format("{} is no option of {}.{} \"nf4bench {} --help\" lists them", escaped(key),
                   command.get_name(), did_you_mean(key, names), command.get_name()));
}

std::vector<Section> ConfigReader::read() const {
  const TomlDocument document = parse_toml(read_text(path_), path_);
  for (const TomlTable& table : document.tables) section(table.path, table.line);
  std::vector<Section> sections;
  for (const TomlEntry& entry : document.entries) {
    CommandApp& command = section_of(entry);
    auto place = std::ranges::find(sections, &command, &Section::command);
    if (place == sections.end()) place = sections.insert(place, {&command, {}});
    Setting found = setting(entry, command);
    if (std::ranges::find(place->settings, found.option, &Setting::option) !=
        place->settings.end()) {
      fail(entry.line, fmt::format("{} sets an option that is set above under its other name",
                                   escaped(found.name)));
    }
    place->settings.push_back(std::move(found));
  }
  return sections;
}

}  // namespace

std::vector<Section> read_config(const std::string& path, CommandApp& app) {
  return ConfigReader(path, app).read();
}

}  // namespace nf4bench::cli
