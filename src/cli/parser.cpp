#include "cli/parser.hpp"

#include "base/terminal.hpp"
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
#include "cli/context.hpp"
#include "cli/describe/command_view.hpp"
#include "cli/describe/help.hpp"
#include "cli/options/command_app.hpp"
#include "cli/options/config_file.hpp"
#include "cli/options/environment.hpp"
#include "cli/options/usage_error.hpp"
#include "report/tool.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

namespace nf4bench::cli {
namespace {

constexpr char kDescription[] =
    "Benchmarks NF4 dequantization kernels (the 4-bit format of bitsandbytes) and proves every "
    "output bit for bit before it is timed.";

constexpr char kFooter[] = R"(Start with:
  nf4bench run data/llama_layer.safetensors   the sample layer, the best device
  nf4bench run --preset llama-3.1-8b          a model's layer shapes, no file
  nf4bench run --help                         the usual options, with examples
Options that are not on the command line are looked for in the environment (NF4BENCH_RUN_DEVICE for --device of run), then in the file that --config or NF4BENCH_CONFIG names (TOML, a section for each command).)";

// The arguments of every command; only those of the command that is given are used.
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

// Lets CLI11 read the words. What it finds missing may still be set elsewhere.
void read_words(CommandApp& app, const std::vector<std::string>& argv) {
  try {
    // CLI11 takes the arguments in reverse, so that it can pop them from the back.
    app.parse(std::vector<std::string>(argv.rbegin(), argv.rend() - 1));
    return;
  } catch (const CLI::RequiredError&) {
    if (app.get_subcommands().empty()) throw;
  } catch (const CLI::RequiresError&) {  // NOLINT(bugprone-empty-catch): see above
  }
  if (app.remaining_size(true) > 0) throw CLI::ExtrasError(app.remaining(true));
}

// What CLI11 looks for when it has read the words, once more.
void check_requirements(const CommandApp& command) {
  for (const CLI::Option* const option : command.get_options()) {
    if (option->get_required() && option->count() == 0) {
      throw CLI::RequiredError(option->get_name());
    }
    for (const CLI::Option* const needed : option->get_needs()) {
      if (option->count() > 0 && needed->count() == 0) {
        throw CLI::RequiresError(option->get_name(), needed->get_name());
      }
    }
    for (const CLI::Option* const other : option->get_excludes()) {
      if (is_active(*option) && is_active(*other)) {
        throw CLI::ExcludesError(option->get_name(), other->get_name());
      }
    }
  }
}

// The configuration file, which the program or the command names; empty for none.
std::string config_path(const CommandApp& app, const CommandApp& command,
                        const std::string& typed) {
  const std::size_t given =
      app.get_option("--config")->count() + command.get_option("--config")->count();
  if (given > 1) {
    throw Error(ErrorKind::kUsage, "--config is given twice; there is one configuration file");
  }
  const char* const variable = std::getenv("NF4BENCH_CONFIG");
  return given == 0 && variable != nullptr ? variable : typed;
}

// Fills the options of `command` that are not on the command line. Returns those that it filled.
std::vector<Setting> settle(CommandApp& app, CommandApp& command, const std::string& config) {
  const Environment environment = read_environment(command);
  for (const std::string& warning : environment.warnings) {
    write_stderr(fmt::format("nf4bench: warning: {}\n", warning));
  }
  std::vector<Setting> settings = fill(command, environment.settings);
  if (config.empty()) return settings;
  for (const auto& [section, layer] : read_config(config, app)) {
    const std::vector<Setting> more = fill(*section, layer);
    if (section == &command) settings.insert(settings.end(), more.begin(), more.end());
  }
  return settings;
}

// The index of the command's name: the first word that is no option and no value of one.
std::size_t place_of_command(const std::vector<std::string>& argv) {
  std::size_t place = 1;
  while (place < argv.size() && argv[place].starts_with("-")) {
    place += argv[place] == "--config" ? 2 : 1;  // the only option there with a value
  }
  return std::min(place, argv.size() - 1);
}

// `argv` with what is set elsewhere, so that a report says how to do the same again.
std::vector<std::string> written_out(const std::vector<std::string>& argv,
                                     const std::vector<Setting>& settings) {
  std::vector<std::string> options;
  std::vector<std::string> positionals;
  for (const Setting& setting : settings) {
    auto& words = setting.option->get_positional() ? positionals : options;
    const std::vector<std::string> more = words_of(setting);
    words.insert(words.end(), more.begin(), more.end());
  }
  std::vector<std::string> whole = argv;
  const auto behind_command = static_cast<std::ptrdiff_t>(place_of_command(argv)) + 1;
  whole.insert(whole.begin() + behind_command, options.begin(), options.end());
  const bool has_dashes = std::ranges::find(argv, "--") != argv.end();
  if (!positionals.empty() && !has_dashes) whole.emplace_back("--");
  whole.insert(whole.end(), positionals.begin(), positionals.end());
  return whole;
}

}  // namespace

struct Parser::Definition {
  CommandApp app{kDescription};
  Arguments arguments;
  std::vector<Command> commands = add_commands(app, arguments);
  Context context;
  std::vector<Setting> settings;  // of options that are not on the command line

  // Null when none is given.
  const Command* given() const {
    const auto found =
        std::ranges::find_if(commands, [](const Command& each) { return each.parser->parsed(); });
    return found == commands.end() ? nullptr : &*found;
  }
};

Parser::Parser() : definition_(std::make_unique<Definition>()) {
  auto& [app, arguments, commands, context, settings] = *definition_;
  app.name("nf4bench");
  app.set_version_flag("--version", report::version_text());
  app.footer(kFooter);
  app.require_subcommand(1);
  const auto formatter = std::make_shared<HelpFormatter>();
  app.formatter(formatter);
  add_config_option(app, arguments.config);
  for (const Command& each : commands) {
    each.parser->formatter(formatter);
    add_config_option(*each.parser, arguments.config);
  }
}

Parser::~Parser() = default;

std::string Parser::parse(const std::vector<std::string>& argv) {
  CommandApp& app = definition_->app;
  try {
    read_words(app, argv);
    auto& command = static_cast<CommandApp&>(*definition_->given()->parser);
    Context& context = definition_->context;
    context.config = config_path(app, command, definition_->arguments.config);
    definition_->settings = settle(app, command, context.config);
    context.argv = written_out(argv, definition_->settings);
    check_requirements(command);
    return "";
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) {
      throw Error(ErrorKind::kUsage, explain_usage_error(views_of(app), error.what(), argv));
    }
    std::ostringstream answer;
    app.exit(error, answer, answer);
    return answer.str();
  }
}

ExitCode Parser::run() const {
  try {
    return definition_->given()->action(definition_->context);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kUsage) throw;
    throw Error(ErrorKind::kUsage, error.what() + origins_of(error.what(), definition_->settings));
  }
}

}  // namespace nf4bench::cli
