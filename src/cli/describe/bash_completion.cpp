#include "cli/describe/completion.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace nf4bench::cli {
namespace {

// bash splits words at "=" before it calls the function, and does no matching of its own.
constexpr char kFrame[] = R"(# Completion for bash, written by "nf4bench completion bash".

# Offers the words in $1; in a list ($2) those for the item after the last comma.
_nf4bench_words() {{
  local prefix=
  if [[ $2 == list ]]; then
    [[ $current == *,* ]] && prefix=${{current%,*}},
    compopt -o nospace 2>/dev/null
  fi
  mapfile -t COMPREPLY < <(compgen -P "$prefix" -W "$1" -- "${{current#"$prefix"}}")
}}

_nf4bench_files() {{
  compopt -o filenames 2>/dev/null
  mapfile -t COMPREPLY < <(compgen -f -- "$current")
}}

_nf4bench() {{
  COMPREPLY=()
  local current=${{COMP_WORDS[COMP_CWORD]}} option=${{COMP_WORDS[COMP_CWORD - 1]}} command= i
  if [[ $current == = ]]; then
    current=
  elif [[ $option == = ]]; then
    option=${{COMP_WORDS[COMP_CWORD - 2]}}
  fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    case ${{COMP_WORDS[i]}} in
      --config) [[ ${{COMP_WORDS[i + 1]}} == = ]] && i=$((i + 2)) || i=$((i + 1)) ;;
      {commands})
        command=${{COMP_WORDS[i]}}
        break
        ;;
    esac
  done
  case "$command $option" in
{values}  esac
  case $command in
{words}  esac
}}

complete -F _nf4bench nf4bench
)";

std::string joined(const std::vector<std::string>& words, const char* separator) {
  return fmt::format("{}", fmt::join(words, separator));
}

// The shell code that completes a value of the option.
std::string action(const OptionView& option) {
  if (!option.facts.choices.empty()) {
    return fmt::format("_nf4bench_words '{}'{}", joined(option.facts.choices, " "),
                       option.is_list() ? " list" : "");
  }
  return option.facts.names_files ? "_nf4bench_files" : ":";
}

// A case for each option of the command that takes a value.
std::string value_cases(const CommandView& command) {
  std::string cases;
  for (const OptionView& option : command.options) {
    if (option.is_flag()) continue;
    std::vector<std::string> patterns;
    for (const std::string& name : option.names) {
      patterns.push_back(fmt::format("'{} {}'", command.name, name));
    }
    cases += fmt::format("    {})\n      {}\n      return\n      ;;\n", joined(patterns, " | "),
                         action(option));
  }
  return cases;
}

// Completes an argument. The second is offered behind a word of the first.
std::string argument_action(const CommandView& command) {
  std::string first = action(command.positionals.front());
  if (command.positionals.size() == 1) return first;
  const std::string words = joined(command.positionals.front().facts.choices, " '* | *' ");
  return fmt::format(
      "case \" ${{COMP_WORDS[*]:0:COMP_CWORD}} \" in\n          *' {} '*) {} ;;\n          *) {} "
      ";;\n"
      "        esac",
      words, action(command.positionals[1]), first);
}

// Completes a word that is no value of an option: after a dash an option, else an argument or a
// command.
std::string word_case(const CommandView& command, const std::vector<std::string>& commands) {
  std::vector<std::string> names;
  for (const OptionView& option : command.options) {
    names.insert(names.end(), option.names.begin(), option.names.end());
  }
  std::string other = ":";
  if (command.is_program()) other = fmt::format("_nf4bench_words '{}'", joined(commands, " "));
  if (!command.positionals.empty()) other = argument_action(command);
  return fmt::format(
      "    '{}')\n      if [[ $current == -* ]]; then\n        _nf4bench_words '{}'\n      else\n"
      "        {}\n      fi\n      ;;\n",
      command.name, joined(names, " "), other);
}

}  // namespace

std::string bash_completion(const std::vector<CommandView>& views) {
  std::vector<std::string> commands;
  for (const CommandView& command : views) {
    if (!command.is_program()) commands.push_back(command.name);
  }
  std::string values;
  std::string words;
  for (const CommandView& command : views) {
    values += value_cases(command);
    words += word_case(command, commands);
  }
  return fmt::format(kFrame, fmt::arg("commands", joined(commands, " | ")),
                     fmt::arg("values", values), fmt::arg("words", words));
}

}  // namespace nf4bench::cli
