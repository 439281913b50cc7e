#include "cli/parser.hpp"

#include "cli/commands/compare/compare_job.hpp"
#include "cli/commands/completion_command.hpp"
#include "cli/commands/dequantize_command.hpp"
#include "cli/commands/doctor_command.hpp"
#include "cli/commands/export_command.hpp"
#include "cli/commands/fleet/fleet_command.hpp"
#include "cli/commands/fleet/merge_command.hpp"
#include "cli/commands/history_command.hpp"
#include "cli/commands/inspect_command.hpp"
#include "cli/commands/list_command.hpp"
#include "cli/commands/run/run_job.hpp"
#include "cli/commands/synth_command.hpp"
#include "cli/options/command_app.hpp"
#include "report/tool.hpp"

#include <functional>
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
--device of run), then in the file that --config or NF4BENCH_CONFIG names (TOML, a section for each
command).)";

// The arguments of every command; only those of the command that is given are read.
struct Arguments {
  RunArguments run;
  ListArguments list;
  InspectArguments inspect;
  SynthArguments synth;
  DequantizeArguments dequantize;
  CompareArguments compare;
  HistoryArguments history;
  MergeArguments merge;
  FleetArguments fleet;
  ExportArguments export_report;
  DoctorArguments doctor;
  CompletionArguments completion;
  std::string config;  // of the program and of every command; taken from their views
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
      command(add_merge_command(app, arguments.merge), arguments.merge),
      command(add_fleet_command(app, arguments.fleet), arguments.fleet),
      command(add_export_command(app, arguments.export_report), arguments.export_report),
      command(add_doctor_command(app, arguments.doctor), arguments.doctor),
  };
  // These two print what the definitions above say.
  commands.push_back({add_completion_command(app, arguments.completion), [&](const Context&) {
                        return print_completion(arguments.completion, views_of(app));
                      }});
  commands.push_back(
      {add_man_command(app), [&](const Context&) { return print_man_page(views_of(app)); }});
  return commands;
}

void add_config_option(CLI::App& app, std::string& path) {
  add_single(app, path, {"--config", "FILE", "Options that are not given here, as TOML"})
      .files()
      .command_line_only();
}

// CLI11 prints two empty lines between groups of options; one is enough.
std::string without_double_blanks(std::string text) {
  for (std::size_t at = 0; (at = text.find("\n\n\n", at)) != std::string::npos;) text.erase(at, 1);
  return text;
}

}  // namespace

struct Parser::Definition {
  CommandApp app{kDescription};
  Arguments arguments;
  std::vector<Command> commands = add_commands(app, arguments);
};

Parser::Parser() : definition_(std::make_unique<Definition>()) {
  auto& [app, arguments, commands] = *definition_;
  app.name("nf4bench");
  app.set_version_flag("--version", report::version_text());
  app.footer(kFooter);
  app.require_subcommand(1);
  add_config_option(app, arguments.config);
  for (const Command& each : commands) add_config_option(*each.parser, arguments.config);
}

Parser::~Parser() = default;

ParseResult Parser::parse(const std::vector<std::string>& argv) {
  using Outcome = ParseResult::Outcome;
  CLI::App& app = definition_->app;
  try {
    // CLI11 takes the arguments in reverse, so that it can pop them from the back.
    app.parse(std::vector<std::string>(argv.rbegin(), argv.rend() - 1));
    return {.outcome = Outcome::kParsed, .text = ""};
  } catch (const CLI::RequiredError& error) {
    return {.outcome = Outcome::kLacking, .text = error.what()};
  } catch (const CLI::RequiresError& error) {
    return {.outcome = Outcome::kLacking, .text = error.what()};
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) return {.outcome = Outcome::kRefused, .text = error.what()};
    std::ostringstream answer;
    app.exit(error, answer, answer);
    return {.outcome = Outcome::kAnswered, .text = without_double_blanks(answer.str())};
  }
}

std::vector<CommandView> Parser::views() const {
  return views_of(definition_->app);
}

ExitCode Parser::run(const Context& context) const {
  for (const Command& each : definition_->commands) {
    if (each.parser->parsed()) return each.action(context);
  }
  throw Error(ErrorKind::kUsage, "no command given");  // parse() has refused such a line
}

}  // namespace nf4bench::cli
