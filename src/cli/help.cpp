#include "cli/help.hpp"

#include "base/nearest_names.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "text/page.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <sstream>
#include <unistd.h>

namespace nf4bench::cli {
namespace {

constexpr int kNarrowest = 40;
constexpr int kTextColumn = 26;  // where the texts begin

int width_of_help() {
  constexpr int kUsual = 80;
  const Terminal terminal = terminal_of(STDOUT_FILENO);
  return terminal.has_width ? std::max(terminal.width, kNarrowest) : kUsual;
}

// One entry: what is typed, and what it means.
std::string entry(const std::string& words, const std::string& meaning, int width) {
  std::string lines = "  " + words;
  const bool is_long = lines.size() + 2 > kTextColumn;
  std::vector<std::string> texts = text::wrapped(meaning, width, kTextColumn);
  if (texts.empty()) return lines + "\n";
  if (is_long) return fmt::format("{}\n{}\n", lines, fmt::join(texts, "\n"));
  texts.front().replace(0, lines.size(), lines);
  return fmt::format("{}\n", fmt::join(texts, "\n"));
}

// The common ones, where there are any: the others are left out.
std::vector<const Option*> chosen_options(const Command& command, bool is_whole) {
  std::vector<const Option*> all = command.shown_options();
  const auto is_common = [](const Option* option) { return option->is(kCommon); };
  if (is_whole || std::ranges::none_of(all, is_common)) return all;
  std::vector<const Option*> common;
  std::ranges::copy_if(all, std::back_inserter(common), is_common);
  std::ranges::copy_if(all, std::back_inserter(common),
                       [](const Option* each) { return each->names.back().starts_with("--help"); });
  return common;
}

// Options under their headings; the common ones alone need none.
std::string options_text(const std::vector<const Option*>& options, bool is_whole, int width) {
  std::vector<std::pair<std::string, std::string>> groups;
  for (const Option* const option : options) {
    const std::string heading = is_whole ? option->group : "Options";
    auto group = std::ranges::find(groups, heading, &decltype(groups)::value_type::first);
    if (group == groups.end()) group = groups.insert(group, {heading, ""});
    group->second += entry(words_of(*option), option->help, width);
  }
  std::string text;
  for (const auto& [heading, lines] : groups) text += fmt::format("\n{}:\n{}", heading, lines);
  return text;
}

// Commands stay whole, to be copied.
std::string broken_lines(const std::string& text, int width) {
  std::string lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
    const std::string words = line.substr(indent);
    if (indent >= 4 || words.starts_with("nf4bench ")) {
      lines += line + "\n";
      continue;
    }
    const auto broken = text::wrapped(words, width, static_cast<int>(indent));
    lines += fmt::format("{}\n", fmt::join(broken, "\n"));
  }
  return lines;
}

// The command that `argv` names; the program when it names none.
const Command& command_of(const std::vector<Command>& commands, const Words& argv) {
  for (std::size_t i = 1; i < argv.size(); ++i) {
    const auto found = std::ranges::find(commands, argv[i], &Command::name);
    if (found != commands.end() && !argv[i].empty()) return *found;
  }
  return commands.front();
}

// Every name of every option; for each option its long names first.
Words option_names(const Command& command) {
  const auto is_long = [](const std::string& name) { return name.starts_with("--"); };
  Words names;
  for (const Option* const option : command.shown_options()) {
    std::ranges::copy_if(option->names, std::back_inserter(names), is_long);
    std::ranges::remove_copy_if(option->names, std::back_inserter(names), is_long);
  }
  return names;
}

// The first word of `argv` that looks like an option but is not in `known`; else empty.
std::string unknown_option(const Words& argv, const Words& known) {
  for (std::size_t i = 1; i < argv.size() && argv[i] != "--"; ++i) {
    std::string word = argv[i].substr(0, argv[i].find('='));
    if (word.starts_with("--") && std::ranges::find(known, word) == known.end()) return word;
  }
  return "";
}

// What is to be given, where `problem` only has the name of what is missing.
std::string meaning_of(const std::string& problem, const Command& command) {
  for (const Option& option : command.options) {
    if (problem != option.name() + " is required") continue;
    return ": " + option.help.substr(0, option.help.find(" (required)"));
  }
  return "";
}

// What CLI11 says in few words, in more of them.
std::string clear_words(const std::string& problem) {
  const std::string_view twice = ": At Most 1 required but received ";
  if (const std::size_t at = problem.find(twice); at != std::string::npos) {
    return fmt::format("{} is given {} times; wanted once", problem.substr(0, at),
                       problem.substr(at + twice.size()));
  }
  const std::size_t at = problem.find(": 1 required");
  if (at == std::string::npos || !problem.ends_with("missing")) return problem;
  return problem.substr(0, at) + " needs a value";
}

}  // namespace

std::string words_of(const Option& option) {
  const char* const more = option.is_list() ? ",..." : option.is_repeatable() ? " ..." : "";
  if (option.is_positional()) return option.names.front() + more;
  return fmt::format("{}{}{}{}", fmt::join(option.names, ","), option.is_flag() ? "" : " ",
                     option.value, more);
}

namespace {

std::string argument_in_usage(const Option& option) {
  const std::string words = words_of(option);
  return option.is(kRequired) ? " " + words : fmt::format(" [{}]", words);
}

}  // namespace

std::string help_text(const Command& command, const std::vector<Command>& commands, bool is_whole) {
  const int width = width_of_help();
  const bool is_program = command.name.empty();
  std::string text = broken_lines(command.summary, width);
  text += fmt::format("\nUsage: nf4bench{}{} [OPTIONS]", is_program ? "" : " ", command.name);
  std::string arguments;
  for (const Option* const each : command.positionals()) {
    text += argument_in_usage(*each);
    arguments += entry(words_of(*each), each->help, width);
  }
  text += is_program ? " COMMAND\n" : "\n";
  if (!arguments.empty()) text += "\nArguments:\n" + arguments;
  const std::vector<const Option*> options = chosen_options(command, is_whole);
  const bool has_all = options.size() == command.shown_options().size();
  text += options_text(options, has_all, width);
  if (is_program) {
    text += "\nCommands:\n";
    for (const Command& each : commands) {
      if (!each.name.empty()) text += entry(each.name, each.summary, width);
    }
  }
  const std::string footer =
      has_all ? command.footer : command.footer.substr(0, command.footer.find("\n\n"));
  return text + "\n" + broken_lines(footer, width);
}

std::string explain_usage_error(const std::vector<Command>& commands, const std::string& problem,
                                const Words& argv) {
  const Command& command = command_of(commands, argv);
  const bool is_program = command.name.empty();
  const std::string of_command = is_program ? "" : command.name + " ";
  const std::string hint = fmt::format("; see nf4bench {}--help", of_command);
  Words names;
  for (const Command& each : commands) {
    if (!each.name.empty()) names.push_back(each.name);
  }
  if (argv.size() < 2) {
    return fmt::format("no command given; wanted one of {}{}", fmt::join(names, ", "), hint);
  }
  if (is_program && !argv[1].starts_with("-")) {
    return fmt::format("\"{}\" is not a command; wanted one of {}.{}", escaped(argv[1]),
                       fmt::join(names, ", "), did_you_mean(argv[1], names));
  }
  const Words options = option_names(command);
  const std::string unknown = unknown_option(argv, options);
  if (!unknown.empty()) {
    return fmt::format("\"{}\" is not an option of {}.{} See nf4bench {}--help", escaped(unknown),
                       is_program ? "nf4bench" : command.name, did_you_mean(unknown, options),
                       of_command);
  }
  return escaped(clear_words(problem), 400) + meaning_of(problem, command) + hint;
}

namespace {

constexpr char kHeader[] = R"(.\" Written by "nf4bench man".
.TH NF4BENCH 1 "" "nf4bench {version}" "User Commands"
.SH NAME
nf4bench \- benchmark for NF4 dequantization kernels
.SH SYNOPSIS
.B nf4bench
.I COMMAND
.RI [ OPTIONS ]
.SH DESCRIPTION
{summary}
{options}.SH COMMANDS
)";

constexpr char kManualFooter[] = R"(.SH ENVIRONMENT
Options that are not on the command line are taken from the environment, then from the file that
.B \-\-config
or
.B NF4BENCH_CONFIG
names, then from their defaults.
.TP
.BI NF4BENCH_ COMMAND _ OPTION
The option of the command, as in
.B NF4BENCH_RUN_MAX_TIME
for
.B \-\-max\-time
of
.BR run .
Values of a list are separated by commas, those of a repeatable option by semicolons.
.TP
.B NF4BENCH_CONFIG
The configuration file: TOML, with a section for each command.
.TP
.B NF4BENCH_FUSED
A second name of
.BR NF4BENCH_RUN_FUSED_CONFIG .
.TP
.BR NO_COLOR ", " TERM ", " COLUMNS
How tables and progress are shown.
.SH EXIT STATUS
.TP
.B 0
All that was asked for was done and verified.
.TP
.B 1
A gate failed.
.TP
.B 2
The command line asks for something impossible.
.TP
.B 3
An input cannot be used, or an output not be written.
.TP
.B 4
The output of a variant differs from the reference.
.TP
.B 5
There is no usable device, or the device failed.
.TP
.B 6
Nothing could be decided.
.TP
.B 7
The reports are not comparable.
.TP
.BR 130 ", " 143
Interrupted by a signal.
)";

// `text`, escaped so that roff shows it unchanged.
std::string roff(const std::string& text) {
  std::string result;
  for (const char c : text) {
    const bool starts_line = result.empty() || result.back() == '\n';
    if (starts_line && (c == '.' || c == '\'')) result += "\\&";
    switch (c) {
      case '\\':
        result += "\\e";
        break;
      case '-':
        result += "\\-";
        break;
      case '"':
        result += "\\(dq";
        break;
      case '\'':
        result += "\\(aq";
        break;
      default:
        result += c;
    }
  }
  return result;
}

std::string option_entry(const Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.names) {
    names.push_back(fmt::format("\\f{}{}\\fR", option.is_positional() ? 'I' : 'B', roff(name)));
  }
  const std::string value = option.value.empty() ? "" : " \\fI" + roff(option.value) + "\\fR";
  const char* const repeated = option.is_list() ? ",..." : option.is_repeatable() ? " ..." : "";
  return fmt::format(".TP\n{}{}{}\n{}\n", fmt::join(names, ", "), value, repeated,
                     roff(option.help));
}

std::string section(const Command& command) {
  std::string synopsis = fmt::format("nf4bench {} [OPTIONS]", command.name);
  std::string entries;
  for (const Option* const each : command.positionals()) {
    synopsis += argument_in_usage(*each);
    entries += option_entry(*each);
  }
  // As in the help, options without a heading come first; --help has none.
  const std::vector<const Option*> options = command.shown_options();
  std::string group = options.front()->group;
  for (const Option* const option : options) {
    if (option->group == group) entries += option_entry(*option);
  }
  const std::string without_heading = group;
  for (const Option* const option : options) {
    if (option->group == without_heading) continue;
    if (option->group != group) entries += fmt::format(".PP\n\\fI{}\\fR\n", roff(option->group));
    group = option->group;
    entries += option_entry(*option);
  }
  return fmt::format(".SS {}\n{}.\n{}.PP\n.nf\n{}\n.fi\n", roff(synopsis), roff(command.summary),
                     entries, roff(command.footer));
}

}  // namespace

std::string man_page(const std::vector<Command>& commands, const std::string& version) {
  const Command& program = commands.front();
  std::string options;
  for (const Option& option : program.options) options += option_entry(option);
  std::string text =
      fmt::format(kHeader, fmt::arg("version", version), fmt::arg("summary", roff(program.summary)),
                  fmt::arg("options", options));
  for (const Command& command : commands) {
    if (!command.name.empty()) text += section(command);
  }
  return text + kManualFooter;
}

}  // namespace nf4bench::cli
