#include "cli/app.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "cli/choices.hpp"
#include "cli/compare_command.hpp"
#include "cli/context.hpp"
#include "cli/dequantize_command.hpp"
#include "cli/doctor_command.hpp"
#include "cli/export_command.hpp"
#include "cli/history_command.hpp"
#include "cli/inspect_command.hpp"
#include "cli/list_command.hpp"
#include "cli/run_command.hpp"
#include "cli/signals.hpp"
#include "cli/synth_command.hpp"
#include "cli/terminal.hpp"
#include "cli/tool.hpp"
#include "cli/usage_error.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <exception>
#include <functional>
#include <new>
#include <sstream>
#include <string>
#include <vector>

namespace nf4bench {
namespace {

constexpr char kDescription[] =
    "Benchmarks NF4 dequantization kernels (the 4-bit format of bitsandbytes) and proves every\n"
    "output bit for bit before it is timed.";

constexpr char kFooter[] = R"(Start with:
  nf4bench run data/llama_layer.safetensors   the sample layer on the best device
  nf4bench run --preset llama-3.1-8b          a model's layer shapes, no file needed
  nf4bench run --help                         every option, with examples)";

// The arguments of every command; only those of the one given are read.
struct Arguments {
  RunArguments run;
  ListArguments list;
  InspectArguments inspect;
  SynthArguments synth;
  DequantizeArguments dequantize;
  CompareArguments compare;
  HistoryArguments history;
  ExportArguments export_report;
  DoctorArguments doctor;
};

struct Command {
  CLI::App* parser;
  std::function<ExitCode(const Context&)> action;
};

template <class CommandArguments>
Command command(CLI::App* parser, const CommandArguments& arguments) {
  return {parser, [&arguments](const Context& context) { return execute(arguments, context); }};
}

// All commands, in the order of the help. A new one is a line here and in Arguments.
std::vector<Command> add_commands(CLI::App& app, Arguments& arguments) {
  return {
      command(add_run_command(app, arguments.run), arguments.run),
      command(add_list_command(app, arguments.list), arguments.list),
      command(add_inspect_command(app, arguments.inspect), arguments.inspect),
      command(add_synth_command(app, arguments.synth), arguments.synth),
      command(add_dequantize_command(app, arguments.dequantize), arguments.dequantize),
      command(add_compare_command(app, arguments.compare), arguments.compare),
      command(add_history_command(app, arguments.history), arguments.history),
      command(add_export_command(app, arguments.export_report), arguments.export_report),
      command(add_doctor_command(app, arguments.doctor), arguments.doctor),
  };
}

void set_up(CLI::App& app) {
  app.name("nf4bench");
  app.set_version_flag("--version", version_text());
  app.footer(kFooter);
  app.require_subcommand(1);
}

// CLI11 leaves two empty lines between groups of options.
std::string without_double_blanks(std::string text) {
  for (std::size_t at = 0; (at = text.find("\n\n\n", at)) != std::string::npos;) text.erase(at, 1);
  return text;
}

ExitCode run_command_line(const std::vector<std::string>& argv) {
  CLI::App app(kDescription);
  set_up(app);
  Arguments arguments;
  const std::vector<Command> commands = add_commands(app, arguments);
  try {
    // CLI11 takes the arguments in reverse, so that it can pop them from the back.
    app.parse(std::vector<std::string>(argv.rbegin(), argv.rend() - 1));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) {
      throw Error(ErrorKind::kUsage, explain_usage_error(app, error, argv));
    }
    std::ostringstream answer;  // --help and --version
    app.exit(error, answer, answer);
    write_stdout(without_double_blanks(answer.str()));
    return ExitCode::kOk;
  }
  for (const Command& each : commands) {
    if (each.parser->parsed()) return each.action({.argv = argv});
  }
  return ExitCode::kUsage;
}

ExitCode report_failure(const std::string& message, ExitCode code) {
  write_stderr(fmt::format("nf4bench: error: {}\n", message));
  return code;
}

}  // namespace

int run_app(int argc, char** argv) {
  ExitCode code = ExitCode::kUsage;
  try {
    code = run_command_line(std::vector<std::string>(argv, argv + argc));
  } catch (const Error& error) {
    const auto signalled = interruption();
    code = report_failure(error.what(), signalled.value_or(exit_code(error.kind())));
  } catch (const std::bad_alloc&) {
    code = report_failure("out of memory; choose fewer or smaller tensors", ExitCode::kBadInput);
  } catch (const std::exception& error) {
    code = report_failure(fmt::format("unexpected: {}", error.what()), ExitCode::kBadInput);
  }
  return static_cast<int>(code);
}

}  // namespace nf4bench
