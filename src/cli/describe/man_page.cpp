#include "cli/describe/man_page.hpp"

#include "cli/options/environment.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <sstream>

namespace nf4bench::cli {
namespace {

constexpr char kSettings[] = R"(.SH ENVIRONMENT
Options that are not on the command line are taken from the environment, then from the file that
.B \-\-config
or
.B NF4BENCH_CONFIG
names, then from their defaults.
.TP
.BI NF4BENCH_ COMMAND _ OPTION
The option of the command, as in
.B {variable}
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
)";

constexpr char kExitStatus[] = R"(.SH EXIT STATUS
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
    if (c == '\\') {
      result += "\\e";
    } else if (c == '-') {
      result += "\\-";
    } else if (c == '"') {
      result += "\\(dq";
    } else if (c == '\'') {
      result += "\\(aq";
    } else {
      result += c;
    }
  }
  return result;
}

std::string option_entry(const OptionView& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.names) names.push_back("\\fB" + roff(name) + "\\fR");
  if (names.empty()) names.push_back("\\fI" + roff(option.positional) + "\\fR");
  const std::string value = option.value.empty() ? "" : " \\fI" + roff(option.value) + "\\fR";
  const char* const repeated = option.is_list() ? ",..." : option.is_repeatable() ? " ..." : "";
  return fmt::format(".TP\n{}{}{}\n{}\n", fmt::join(names, ", "), value, repeated,
                     roff(option.help));
}

// The end of a help text, with its lines as they are.
std::string verbatim(const std::string& text) {
  return fmt::format(".PP\n.nf\n{}\n.fi\n", roff(text));
}

std::string synopsis(const CommandView& command) {
  std::string words = fmt::format("nf4bench {} [OPTIONS]", command.name);
  for (const OptionView& positional : command.positionals) {
    words += fmt::format(" {}{}", positional.positional, positional.is_repeatable() ? " ..." : "");
  }
  return words;
}

std::string section(const CommandView& command) {
  std::string text = fmt::format(".SS {}\n{}.\n", roff(synopsis(command)), roff(command.summary));
  for (const OptionView& positional : command.positionals) text += option_entry(positional);
  // As in the help, options without a heading come first; --help has none.
  std::string group = command.options.front().group;
  for (const OptionView& option : command.options) {
    if (option.group == group) text += option_entry(option);
  }
  const std::string without_heading = group;
  for (const OptionView& option : command.options) {
    if (option.group == without_heading) continue;
    if (option.group != group) text += fmt::format(".PP\n\\fI{}\\fR\n", roff(option.group));
    group = option.group;
    text += option_entry(option);
  }
  return text + verbatim(command.footer);
}

}  // namespace

std::string man_page(const std::vector<CommandView>& views, const std::string& version) {
  const CommandView& program = views.front();
  std::string text = fmt::format(
      ".\\\" Written by \"nf4bench man\".\n"
      ".TH NF4BENCH 1 \"\" \"nf4bench {}\" \"User Commands\"\n"
      ".SH NAME\nnf4bench \\- benchmark for NF4 dequantization kernels\n"
      ".SH SYNOPSIS\n.B nf4bench\n.I COMMAND\n.RI [ OPTIONS ]\n"
      ".SH DESCRIPTION\n{}\n",
      version, roff(program.summary));
  for (const OptionView& option : program.options) text += option_entry(option);
  text += ".SH COMMANDS\n";
  for (const CommandView& command : views) {
    if (!command.is_program()) text += section(command);
  }
  text += fmt::format(kSettings, fmt::arg("variable", variable_of("run", "max-time")));
  return text + kExitStatus;
}

}  // namespace nf4bench::cli
