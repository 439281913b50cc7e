#include "cli/describe/completion.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>

namespace nf4bench::cli {
namespace {

constexpr char kFrame[] = R"(#compdef nf4bench
# Completion for zsh, written by "nf4bench completion zsh".

_nf4bench() {{
  local curcontext=$curcontext state line ret=1
  local -A opt_args
  local -a commands=(
{commands}  )
  _arguments -C \
{options}    '1:command:->command' \
    '*::argument:->argument' && ret=0
  case $state in
    command)
      _describe -t commands command commands && ret=0
      ;;
    argument)
      curcontext=${{curcontext%:*:*}}:nf4bench-$words[1]:
      case $words[1] in
{cases}      esac
      ;;
  esac
  return ret
}}

_nf4bench "$@"
)";

// `text` between single quotes, with a backslash before each of `special`.
std::string quoted(const std::string& text, const std::string& special) {
  std::string result;
  for (const char c : text) {
    if (c == '\'') {
      result += R"('\'')";
      continue;
    }
    if (special.find(c) != std::string::npos) result += '\\';
    result += c;
  }
  return result;
}

// ":MESSAGE:ACTION" for a value.
std::string value_part(const OptionView& option, const std::string& message) {
  std::string action = option.facts.names_files ? "_files" : " ";
  const std::string words = fmt::format("{}", fmt::join(option.facts.choices, " "));
  if (!words.empty()) {
    action = option.is_list() ? fmt::format("_values -s , {} {}", message, words)
                              : fmt::format("({})", words);
  }
  return fmt::format(":{}:{}", quoted(message, ":\\"), action);
}

// One line of _arguments for each name of the option.
std::string option_lines(const OptionView& option, const std::string& indent) {
  std::string lines;
  for (const std::string& name : option.names) {
    const bool is_long = name.starts_with("--");
    lines += fmt::format("{}'{}{}{}[{}]{}' \\\n", indent, option.is_repeatable() ? "*" : "", name,
                         option.is_flag() ? "" : (is_long ? "=" : "+"), quoted(option.help, "[]\\"),
                         option.is_flag() ? "" : value_part(option, option.value));
  }
  return lines;
}

std::string command_case(const CommandView& command) {
  std::string lines;
  for (const OptionView& option : command.options) lines += option_lines(option, "            ");
  for (std::size_t i = 0; i < command.positionals.size(); ++i) {
    const OptionView& positional = command.positionals[i];
    lines += fmt::format("            '{}{}' \\\n",
                         positional.is_repeatable() ? "*" : std::to_string(i + 1),
                         value_part(positional, positional.positional));
  }
  return fmt::format("        {})\n          _arguments \\\n{}            && ret=0\n          ;;\n",
                     command.name, lines);
}

}  // namespace

std::string zsh_completion(const std::vector<CommandView>& views) {
  std::string commands;
  std::string options;
  std::string cases;
  for (const CommandView& command : views) {
    if (command.is_program()) {
      for (const OptionView& option : command.options) options += option_lines(option, "    ");
      continue;
    }
    commands += fmt::format("    '{}:{}'\n", command.name, quoted(command.summary, ":\\"));
    cases += command_case(command);
  }
  return fmt::format(kFrame, fmt::arg("commands", commands), fmt::arg("options", options),
                     fmt::arg("cases", cases));
}

}  // namespace nf4bench::cli
