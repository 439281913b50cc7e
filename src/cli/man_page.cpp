#include "cli/help.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace nf4bench::cli {
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

constexpr char kFooter[] = R"(.SH ENVIRONMENT
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
    synopsis += " " + words_of(*each);
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
  return text + kFooter;
}

}  // namespace nf4bench::cli
