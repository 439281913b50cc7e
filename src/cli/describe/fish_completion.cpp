#include "cli/describe/completion.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace nf4bench::cli {
namespace {

// fish knows two escapes between single quotes: of the quote and of the backslash.
std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') result += '\\';
    result += c;
  }
  return result + "'";
}

// The switches of "complete" that tell which values the option takes.
std::string value_part(const OptionView& option) {
  const std::string words = fmt::format("{}", fmt::join(option.facts.choices, " "));
  if (option.is_flag()) return "";
  if (words.empty()) return option.facts.names_files ? " -r -F" : " -x";
  if (!option.is_list()) return fmt::format(" -x -a {}", quoted(words));
  const std::string printed = fmt::format("printf \"%s\\n\" {}", words);
  return fmt::format(" -x -a {}", quoted("(__fish_complete_list , " + quoted(printed) + ")"));
}

std::string condition(const CommandView& command) {
  if (command.is_program()) return "__fish_use_subcommand";
  return quoted("__fish_seen_subcommand_from " + command.name);
}

std::string option_line(const CommandView& command, const OptionView& option) {
  std::string names;
  for (const std::string& name : option.names) {
    names += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  }
  return fmt::format("complete -c nf4bench -n {}{}{} -d {}\n", condition(command), names,
                     value_part(option), quoted(option.help));
}

// Lines for the arguments of a command. One that follows another is offered behind one of its
// words.
std::string positional_lines(const CommandView& command) {
  std::string lines;
  std::string known;  // the words of those before
  for (std::size_t i = 0; i < command.positionals.size(); ++i) {
    const std::string words =
        fmt::format("{}", fmt::join(command.positionals[i].facts.choices, " "));
    std::string when = "__fish_seen_subcommand_from " + command.name;
    if (i > 0) when += "; and __fish_seen_subcommand_from " + known;
    if (i + 1 < command.positionals.size()) {
      when += "; and not __fish_seen_subcommand_from " + words;
    }
    lines += fmt::format("complete -c nf4bench -n {} {}\n", cli::quoted(when),
                         words.empty() ? "-F" : "-a " + quoted(words));
    known = words;
  }
  return lines;
}

}  // namespace

std::string fish_completion(const std::vector<CommandView>& views) {
  std::string text =
      "# Completion for fish, written by \"nf4bench completion fish\".\n"
      "complete -c nf4bench -f\n";
  for (const CommandView& command : views) {
    if (command.is_program()) continue;
    text += fmt::format("complete -c nf4bench -n __fish_use_subcommand -a {} -d {}\n", command.name,
                        quoted(command.summary));
  }
  for (const CommandView& command : views) {
    for (const OptionView& option : command.options) text += option_line(command, option);
    text += positional_lines(command);
  }
  return text;
}

}  // namespace nf4bench::cli
