#include "base/terminal.hpp"
#include "cli/commands/commands.hpp"
#include "cli/help.hpp"
#include "report/host.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

namespace nf4bench::cli {
namespace {

constexpr char kExamples[] = R"(Examples:
  For this shell only (an installed nf4bench has brought its completions along):
    nf4bench completion bash > nf4bench.bash
  For zsh, in a folder of its fpath; for fish, in ~/.config/fish/completions:
    nf4bench completion zsh > _nf4bench
    nf4bench completion fish > nf4bench.fish)";

constexpr char kManExamples[] = R"(Examples:
  Read it without having it installed:
    nf4bench man > nf4bench.1)";

// Each asks the program for what may stand at the cursor: the first line of the answer says what
// kind of thing it is, the others are the words.
constexpr std::pair<const char*, const char*> kScripts[] = {
    {"bash", R"(# Completion for bash, written by "nf4bench completion bash".
_nf4bench() {
  local current=${COMP_WORDS[COMP_CWORD]} answer
  [[ $current == = ]] && current=
  mapfile -t answer < <("${COMP_WORDS[0]}" completion bash -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  COMPREPLY=("${answer[@]:1}")
  case ${answer[0]} in
    files)
      compopt -o filenames 2>/dev/null
      mapfile -t COMPREPLY < <(compgen -f -- "$current")
      ;;
    list) compopt -o nospace 2>/dev/null ;;
  esac
}
complete -F _nf4bench nf4bench
)"},
    {"zsh", R"(#compdef nf4bench
# Completion for zsh, written by "nf4bench completion zsh".
_nf4bench() {
  local -a answer=("${(@f)$("${(Q)words[1]}" completion zsh -- "${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
  local kind=$answer[1]
  shift answer
  [[ $kind == words ]] || compset -P '--*='
  case $kind in
    files) _files ;;
    list) compset -P '*,'; _describe -t values value answer -S '' ;;
    *) _describe -t values value answer ;;
  esac
}
[[ $funcstack[1] == _nf4bench ]] && _nf4bench || compdef _nf4bench nf4bench
)"},
    {"fish", R"(# Completion for fish, written by "nf4bench completion fish".
function __nf4bench_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l answer ($words[1] completion fish -- $words[2..] "$current" 2>/dev/null)
    if test "$answer[1]" = files
        set -l option (string match -r -- '^--[^=]*=' "$current")
        for path in (__fish_complete_path (string replace -- "$option" '' "$current"))
            printf '%s\n' "$option$path"
        end
    else
        printf '%s\n' $answer[2..]
    end
end
complete -c nf4bench -f -a '(__nf4bench_complete)'
)"}};

Words shells() {
  Words names;
  for (const auto& [name, script] : kScripts) names.emplace_back(name);
  return names;
}

// What may stand at the cursor.
struct Offer {
  const char* kind = "words";  // "values" and "list" of an option, "files": the shell's own
  std::string before{};        // what stands before the word that is completed
  std::string current{};       // the beginning of that word
  std::vector<std::pair<std::string, std::string>> words{};  // with what they mean

  void add_words_of(const Option& option) {
    if (option.is(kFiles)) kind = "files";
    if (option.binding.choices.empty()) return;
    kind = option.is_list() ? "list" : "values";
    for (const std::string& word : option.binding.choices) words.emplace_back(word, "");
    const std::size_t comma = option.is_list() ? current.rfind(',') : std::string::npos;
    if (comma == std::string::npos) return;
    before += current.substr(0, comma + 1);
    current.erase(0, comma + 1);
  }
};

const Option* option_of(const Command& command, const std::string& name) {
  const auto has_name = [&](const Option& each) { return each.has_name(name); };
  const auto found = std::ranges::find_if(command.options, has_name);
  return found == command.options.end() ? nullptr : &*found;
}

// Words and a last one, of which a shell may have split "--option=value" into three.
Offer offer_of(const std::vector<Command>& commands, const Words& words) {
  const Command* command = &commands.front();
  const Option* pending = nullptr;  // an option whose value is next
  std::size_t place = 0;            // of the next positional
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "=") continue;
    if (pending != nullptr) {
      pending = nullptr;
    } else if (word.starts_with('-')) {
      const Option* const option = option_of(*command, word);
      if (option != nullptr && !option->is_flag()) pending = option;
    } else if (command->name.empty()) {
      const auto found = std::ranges::find(commands, word, &Command::name);
      if (found != commands.end() && !word.empty()) command = &*found;
    } else {
      ++place;
    }
  }
  Offer offer = {.current = words.empty() || words.back() == "=" ? "" : words.back()};
  if (const std::size_t equals = offer.current.find('=');
      pending == nullptr && offer.current.starts_with("--") && equals != std::string::npos) {
    pending = option_of(*command, offer.current.substr(0, equals));
    offer.before = offer.current.substr(0, equals + 1);
    offer.current.erase(0, equals + 1);
  }
  const std::vector<const Option*> arguments = command->positionals();
  if (pending != nullptr) {
    offer.add_words_of(*pending);
  } else if (offer.current.starts_with('-')) {
    for (const Option* const option : command->shown_options()) {
      for (const std::string& name : option->names) offer.words.emplace_back(name, option->help);
    }
  } else if (command->name.empty()) {
    for (const Command& each : commands) {
      if (!each.name.empty()) offer.words.emplace_back(each.name, each.summary);
    }
  } else if (!arguments.empty()) {
    const bool takes_all = arguments.back()->is(kTakesAll);
    if (place < arguments.size() || takes_all) {
      offer.add_words_of(*arguments[std::min(place, arguments.size() - 1)]);
    }
  }
  return offer;
}

// The answer to the script of a shell. zsh and bash want what follows "--option=" alone, fish all.
std::string answer(const Offer& offer, const std::string& shell) {
  std::string text = fmt::format("{}\n", offer.kind);
  for (const auto& [word, meaning] : offer.words) {
    if (!word.starts_with(offer.current)) continue;
    if (shell == "zsh") {
      text += meaning.empty() ? word + "\n" : fmt::format("{}:{}\n", word, meaning);
    } else if (shell == "fish") {
      text += fmt::format("{}{}\t{}\n", offer.before, word, meaning);
    } else {
      text += fmt::format("{}{}\n", offer.before, word);
    }
  }
  return text;
}

}  // namespace

Command completion_command() {
  struct Arguments {
    std::string shell;
    Words words;
  };
  const auto a = std::make_shared<Arguments>();
  Command command("completion", "Print the script that completes words in a shell", kExamples);
  command.add("shell", a->shell, "bash, zsh or fish", kRequired).one_of(shells());
  command.add("word", a->words, "", kTakesAll | kHidden);
  command.run = [a](const Context& context) {
    for (const auto& [name, script] : kScripts) {
      if (a->shell != name) continue;
      write_stdout(a->words.empty() ? script : answer(offer_of(context.commands, a->words), name));
    }
    return ExitCode::kOk;
  };
  return command;
}

Command man_command() {
  Command command("man", "Print the manual page as roff", kManExamples);
  command.run = [](const Context& context) {
    write_stdout(man_page(context.commands, report::tool_info().version));
    return ExitCode::kOk;
  };
  return command;
}

}  // namespace nf4bench::cli
