#include "cli/settings.hpp"

#include "base/nearest_names.hpp"
#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <set>
#include <unistd.h>

namespace nf4bench::cli {
namespace {

std::string upper(std::string text) {
  for (char& c : text) {
    c = c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return text;
}

std::string lower(std::string text) {
  for (char& c : text) {
    c = c == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return text;
}

// The variables that are set and begin with `prefix`, in alphabetic order.
std::set<std::string> variables_with(const std::string& prefix) {
  std::set<std::string> names;
  for (char** each = environ; each != nullptr && *each != nullptr; ++each) {
    const std::string_view text = *each;
    if (text.starts_with(prefix)) names.emplace(text.substr(0, text.find('=')));
  }
  return names;
}

// The environment variable for an option: NF4BENCH_RUN_MAX_TIME for max-time of run.
std::string variable_of(const std::string& command, const std::string& option) {
  return "NF4BENCH_" + upper(command) + "_" + upper(option);
}

// What is to be said of a variable that sets nothing.
std::string warning_of(const Command& command, const std::string& variable, const Words& known) {
  const std::string name = lower(variable.substr(variable_of(command.name, "").size()));
  for (const Option& option : command.options) {
    if (!option.is(kCommandLineOnly) || !option.has_name("--" + name)) continue;
    return fmt::format(
        "{} in the environment is passed over: --{} is taken from the command line "
        "alone",
        escaped(variable), escaped(name));
  }
  return fmt::format("{} in the environment names no option of {}.{}", escaped(variable),
                     command.name, did_you_mean(variable, known));
}

Words words_in(const std::string& variable, const std::string& text, const Option& option) {
  if (option.is_flag()) return {is_on(variable, text) ? "true" : "false"};
  if (!option.is_repeatable()) return {text};
  Words words = split(text, option.is_list() ? ',' : ';');
  std::erase(words, "");
  return words;
}

bool names_option(const std::string& message, const std::string& name) {
  const std::size_t at = message.find("--" + name);
  if (at == std::string::npos) return false;
  const std::string_view rest = std::string_view(message).substr(at + 2 + name.size());
  return rest.empty() ||
         (rest[0] != '-' && std::islower(rest[0]) == 0);  // else a longer name begins like this
}

// Whether one of two options excludes the other.
bool is_excluded(const Option& one, const Option& other) {
  const auto excludes = [](const Option& a, const Option& b) {
    return std::ranges::any_of(a.excluded, [&](const auto& name) { return b.has_name(name); });
  };
  return excludes(one, other) || excludes(other, one);
}

// The index of the command's name: the first word that is no option and no value of one.
std::size_t place_of_command(const Words& argv) {
  std::size_t place = 1;
  while (place < argv.size() && argv[place].starts_with("-")) {
    place += argv[place] == "--config" ? 2 : 1;  // the only option there with a value
  }
  return std::min(place, argv.size() - 1);
}

// All but --config, whose options are written out.
Words without_config(const Words& argv) {
  Words words;
  bool is_option = true;
  for (std::size_t i = 0; i < argv.size(); ++i) {
    is_option = is_option && argv[i] != "--";
    if (is_option && argv[i] == "--config") {
      ++i;
    } else if (!is_option || !argv[i].starts_with("--config=")) {
      words.push_back(argv[i]);
    }
  }
  return words;
}

}  // namespace

bool Setting::is_active() const {
  return !is_overridden && (!option->is_flag() || is_on(name, words.back()));
}

std::vector<Setting> read_environment(const Command& command) {
  std::vector<Setting> settings;
  Words known;
  const auto look = [&](const Option& option, const std::string& name,
                        const std::string& variable) {
    known.push_back(variable);
    const char* const text = std::getenv(variable.c_str());
    const bool is_set = std::ranges::find(settings, &option, &Setting::option) != settings.end();
    if (text == nullptr || *text == '\0' || is_set) return;
    Words words = words_in(variable, text, option);
    if (!words.empty()) settings.push_back({&option, name, std::move(words), variable});
  };
  for (const Option& option : command.options) {
    if (option.is(kCommandLineOnly)) continue;
    for (const std::string& name : option.long_names()) {
      look(option, name, variable_of(command.name, name));
    }
    if (!option.own_variable.empty()) look(option, option.long_names()[0], option.own_variable);
  }
  for (const std::string& variable : variables_with(variable_of(command.name, ""))) {
    if (std::ranges::find(known, variable) != known.end()) continue;
    warn(warning_of(command, variable, known));
  }
  return settings;
}

void take(const Setting& setting) {
  try {
    setting.option->take(setting.words);
  } catch (const Error& error) {
    if (setting.origin.empty()) throw;
    throw Error(error.kind(), fmt::format("{}: {}", setting.origin, error.what()));
  }
}

std::vector<Setting> layered(const std::vector<std::vector<Setting>>& layers) {
  std::vector<Setting> kept;
  for (const std::vector<Setting>& layer : layers) {
    std::vector<Setting> more;
    for (Setting setting : layer) {
      const auto stops = [&](const Setting& other) {
        return other.is_active() && is_excluded(*setting.option, *other.option);
      };
      if (std::ranges::any_of(kept, stops)) continue;
      setting.is_overridden =
          std::ranges::find(kept, setting.option, &Setting::option) != kept.end();
      more.push_back(std::move(setting));
    }
    kept.insert(kept.end(), more.begin(), more.end());
  }
  return kept;
}

std::string find_conflict(const Command& command, const std::vector<Setting>& settings) {
  const auto is_given = [&](const std::string& name) {
    return std::ranges::any_of(settings, [&](const Setting& each) {
      return each.is_active() && each.option->has_name(name);
    });
  };
  for (const Option& option : command.options) {
    const std::string& name = option.name();
    if (!is_given(name)) {
      if (option.is(kRequired)) return name + " is required";
      continue;
    }
    for (const std::string& other : option.needed) {
      if (!is_given(other)) return fmt::format("{} requires {}", name, other);
    }
    for (const std::string& other : option.excluded) {
      if (is_given(other)) return fmt::format("{} excludes {}", name, other);
    }
  }
  return "";
}

Words written_out(const Words& argv, const std::vector<Setting>& settings) {
  Words options;
  Words positionals;
  for (const Setting& setting : settings) {
    if (setting.origin.empty() || !setting.is_active()) continue;
    if (setting.option->is_flag()) {
      options.push_back("--" + setting.name);
      continue;
    }
    const bool is_positional = setting.option->is_positional();
    for (const std::string& word : setting.words) {
      (is_positional ? positionals : options)
          .push_back(is_positional ? word : fmt::format("--{}={}", setting.name, word));
    }
  }
  Words whole = without_config(argv);
  const auto behind_command = static_cast<std::ptrdiff_t>(place_of_command(whole)) + 1;
  whole.insert(whole.begin() + behind_command, options.begin(), options.end());
  const bool has_dashes = std::ranges::find(argv, "--") != argv.end();
  if (!positionals.empty() && !has_dashes) whole.emplace_back("--");
  whole.insert(whole.end(), positionals.begin(), positionals.end());
  return whole;
}

std::string origins_of(const std::string& message, const std::vector<Setting>& settings) {
  std::string origins;
  for (const Setting& setting : settings) {
    if (setting.origin.empty() || setting.is_overridden) continue;
    const auto is_quoted = [&](const std::string& word) {
      return message.find('"' + word + '"') != std::string::npos;
    };
    if (names_option(message, setting.name) || std::ranges::any_of(setting.words, is_quoted)) {
      origins += fmt::format(" (--{} is set by {})", setting.name, setting.origin);
    }
  }
  return origins;
}

}  // namespace nf4bench::cli
