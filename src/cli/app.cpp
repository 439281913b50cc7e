#include "cli/app.hpp"

#include "base/error.hpp"
#include "base/terminal.hpp"
#include "cli/commands/compare_command.hpp"
#include "cli/commands/completion_command.hpp"
#include "cli/commands/dequantize_command.hpp"
#include "cli/commands/doctor_command.hpp"
#include "cli/commands/export_command.hpp"
#include "cli/commands/history_command.hpp"
#include "cli/commands/inspect_command.hpp"
#include "cli/commands/list_command.hpp"
#include "cli/commands/run_command.hpp"
#include "cli/commands/synth_command.hpp"
#include "cli/context.hpp"
#include "cli/options/command_app.hpp"
#include "cli/options/command_line.hpp"
#include "cli/options/usage_error.hpp"
#include "cli/signals.hpp"
#include "report/tool.hpp"

#include <fmt/format.h>

#include <exception>
#include <functional>
#include <new>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

namespace nf4bench::cli {
namespace {

constexpr char kDescription[] =
    "Benchmarks NF4 dequantization kernels (the 4-bit format of bitsandbytes) and proves every\n"
    "output bit for bit before it is timed.";

constexpr char kFooter[] = R"(Start with:
  nf4bench run data/llama_layer.safetensors   the sample layer on the best device
  nf4bench run --preset llama-3.1-8b          a model's layer shapes, no file needed
  nf4bench run --help                         every option, with examples
Options that are not on the command line are looked for in the environment (NF4BENCH_RUN_DEVICE for
--device of run), then in the file that --config or NF4BENCH_CONFIG names: TOML, a section a command.)";

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
  CompletionArguments completion;
  std::string config;  // of the program and of every command
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
std::vector<Command> add_commands(CommandApp& app, Arguments& arguments) {
  std::vector<Command> commands = {
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
  // These two tell of the definitions themselves.
  commands.push_back({add_completion_command(app, arguments.completion),
                      [&](const Context&) { return print_completion(arguments.completion, app); }});
  commands.push_back({add_man_command(app), [&](const Context&) { return print_man_page(app); }});
  return commands;
}

void add_config_option(CLI::App& app, std::string& path) {
  add_single(app, path, {"--config", "FILE", "Options that are not given here, as TOML"})
      .files()
      .command_line_only();
}

// The definition of the command line, and what is read from it. Used once: CLI11 parses into it.
struct Parser {
  Parser();

  // Throws CLI::ParseError.
  void parse(const std::vector<std::string>& argv) {
    // CLI11 takes the arguments in reverse, so that it can pop them from the back.
    app.parse(std::vector<std::string>(argv.rbegin(), argv.rend() - 1));
  }

  // The command that was given; none when there was none.
  const Command* given() const;

  CommandApp app{kDescription};
  Arguments arguments;
  std::vector<Command> commands;
};

Parser::Parser() : commands(add_commands(app, arguments)) {
  app.name("nf4bench");
  app.set_version_flag("--version", report::version_text());
  app.footer(kFooter);
  app.require_subcommand(1);
  add_config_option(app, arguments.config);
  for (const Command& each : commands) add_config_option(*each.parser, arguments.config);
}

const Command* Parser::given() const {
  for (const Command& each : commands) {
    if (each.parser->parsed()) return &each;
  }
  return nullptr;
}

// CLI11 leaves two empty lines between groups of options.
std::string without_double_blanks(std::string text) {
  for (std::size_t at = 0; (at = text.find("\n\n\n", at)) != std::string::npos;) text.erase(at, 1);
  return text;
}

// What --help and --version print; none when the command line asks for something to be done. What
// is missing may still come from elsewhere.
std::optional<std::string> answer_of(Parser& parser, const std::vector<std::string>& argv) {
  try {
    parser.parse(argv);
  } catch (const CLI::RequiredError&) {  // NOLINT(bugprone-empty-catch)
  } catch (const CLI::RequiresError&) {  // NOLINT(bugprone-empty-catch)
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) {
      throw Error(ErrorKind::kUsage, explain_usage_error(parser.app, error, argv));
    }
    std::ostringstream answer;
    parser.app.exit(error, answer, answer);
    return without_double_blanks(answer.str());
  }
  return std::nullopt;
}

// The command line with what the environment and a configuration file add. `typed` has parsed it.
CommandLine complete(const Parser& typed, const std::vector<std::string>& argv) {
  const Command* const command = typed.given();
  if (command == nullptr) return {.argv = argv, .settings = {}, .warnings = {}};
  if (typed.app.count("--config") + command->parser->count("--config") > 1) {
    throw Error(ErrorKind::kUsage, "--config is given twice; there is one configuration file");
  }
  const auto try_to_parse = [](const std::vector<std::string>& words) { Parser().parse(words); };
  return complete(argv, typed.app, static_cast<const CommandApp&>(*command->parser),
                  typed.arguments.config, try_to_parse);
}

ExitCode run_command_line(const std::vector<std::string>& argv) {
  Parser typed;
  if (const auto answer = answer_of(typed, argv)) {
    write_stdout(*answer);
    return ExitCode::kOk;
  }
  const CommandLine line = complete(typed, argv);
  for (const std::string& warning : line.warnings) {
    write_stderr(fmt::format("nf4bench: warning: {}\n", warning));
  }
  Parser parser;
  try {
    parser.parse(line.argv);
    return parser.given()->action({.argv = line.argv});
  } catch (const CLI::ParseError& error) {
    const std::string message = explain_usage_error(parser.app, error, argv);
    throw Error(ErrorKind::kUsage, message + origins_of(message, line.settings));
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kUsage) throw;
    throw Error(ErrorKind::kUsage, error.what() + origins_of(error.what(), line.settings));
  }
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

}  // namespace nf4bench::cli
