#include "cli/app.hpp"

#include "base/error.hpp"
#include "base/signals.hpp"
#include "base/terminal.hpp"
#include "cli/commands/commands.hpp"
#include "cli/help.hpp"
#include "cli/settings.hpp"
#include "peer/process/peer_process.hpp"
#include "report/host.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <fcntl.h>
#include <new>
#include <string_view>
#include <unistd.h>

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

// The program, then all commands in the order of the help.
std::vector<Command> all_commands() {
  std::vector<Command> commands = {Command("", kDescription, kFooter),
                                   run_command(),
                                   try_command(),
                                   tries_command(),
                                   list_command(),
                                   inspect_command(),
                                   synth_command(),
                                   dequantize_command(),
                                   compare_command(),
                                   history_command(),
                                   merge_command(),
                                   fleet_command(),
                                   check_command(),
                                   site_command(),
                                   export_command(),
                                   doctor_command(),
                                   completion_command(),
                                   man_command()};
  commands.front().add(
      "--version", [](bool) {}, "Display program version information and exit", kCommandLineOnly);
  for (Command& command : commands) {
    command.group = "Options";
    command.add(
        "--config FILE", [](const std::string&) {}, "Options that are not given here, as TOML",
        kFiles | kCommandLineOnly);
  }
  return commands;
}

// The options in CLI11's words. It only takes the words apart: whether they fit together is known
// when the environment and the configuration file were read.
void declare(CLI::App& app, const Command& command) {
  app.set_help_flag();
  app.allow_extras();
  for (const Option& option : command.options) {
    const std::string names = fmt::format("{}", fmt::join(option.names, ","));
    if (option.is_flag()) {
      app.add_flag(names)->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
      continue;
    }
    CLI::Option* const added = app.add_option(names);
    if (option.is_list()) added->delimiter(',');
    if (!option.is_repeatable()) continue;
    added->expected(1, CLI::detail::expected_max_vector_size);
    added->allow_extra_args(option.is(kTakesAll));
  }
}

std::vector<Setting> typed_settings(const CLI::App& app, const Command& command) {
  std::vector<Setting> settings;
  for (const Option& option : command.options) {
    const CLI::Option* const found = app.get_option(option.names.front());
    if (found->count() == 0) continue;
    Words words = found->results();
    if (option.is_flag()) words = {is_on(option.name(), words.back()) ? "true" : "false"};
    settings.push_back({&option, option.long_names().front(), std::move(words)});
  }
  return settings;
}

bool is_given(const CLI::App& app, const std::string& flag) {
  const CLI::Option* const option = app.get_option_no_throw(flag);
  return option != nullptr && option->count() > 0;
}

// The configuration file, which the program or the command names; empty for none.
std::string config_path(const CLI::App& app, const CLI::App& command) {
  Words given = app.get_option("--config")->results();
  const Words more = command.get_option("--config")->results();
  given.insert(given.end(), more.begin(), more.end());
  if (given.size() > 1) {
    throw Error(ErrorKind::kUsage, "--config is given twice; there is one configuration file");
  }
  const char* const variable = std::getenv("NF4BENCH_CONFIG");
  return !given.empty() ? given.front() : variable != nullptr ? variable : "";
}

// One reading of the command line.
class CommandLine {
 public:
  explicit CommandLine(const Words& argv) : argv_(argv) {}

  ExitCode run() {
    parse();
    const auto subcommands = app_.get_subcommands();
    const CLI::App& own = subcommands.empty() ? app_ : *subcommands.front();
    const Command& command =
        *std::ranges::find(commands_, subcommands.empty() ? "" : own.get_name(), &Command::name);
    if (is_given(app_, "--version")) return print(report::version_text() + "\n");
    if (is_given(app_, "--help")) return print(help_text(commands_.front(), commands_, false));
    const bool is_whole = is_given(own, "--help-all");
    if (is_whole || is_given(own, "--help")) return print(help_text(command, commands_, is_whole));
    if (app_.remaining_size(true) > 0) fail(CLI::ExtrasError(app_.remaining(true)).what());
    if (subcommands.empty()) fail("a command is required");
    const std::string config = config_path(app_, own);
    const std::vector<Setting> settings = settle(own, command, config);
    const Context context = {written_out(argv_, settings), config, commands_};
    try {
      return command.run(context);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kUsage) throw;
      throw Error(ErrorKind::kUsage, error.what() + origins_of(error.what(), settings));
    }
  }

 private:
  static ExitCode print(const std::string& text) {
    write_stdout(text);
    return ExitCode::kOk;
  }

  [[noreturn]] void fail(const std::string& problem) const {
    throw Error(ErrorKind::kUsage, explain_usage_error(commands_, problem, argv_));
  }

  void parse() {
    for (const Command& command : commands_) {
      declare(command.name.empty() ? app_ : *app_.add_subcommand(command.name), command);
    }
    app_.require_subcommand(0, 1);
    try {
      // CLI11 takes the arguments in reverse, so that it can pop them from the back.
      app_.parse(Words(argv_.rbegin(), argv_.rend() - 1));
    } catch (const CLI::ParseError& error) {
      fail(error.what());
    }
  }

  // Fills the options of `command`: what is typed comes before the environment, and that before the
  // configuration file.
  std::vector<Setting> settle(const CLI::App& own, const Command& command,
                              const std::string& config) {
    std::vector<std::vector<Setting>> layers = {typed_settings(own, command),
                                                read_environment(command)};
    if (!config.empty()) {
      for (const auto& [owner, settings] : read_config(config, commands_)) {
        if (owner == &command) {
          layers.push_back(settings);
        } else {  // they are only checked
          std::ranges::for_each(settings, take);
        }
      }
    }
    std::vector<Setting> settings = layered(layers);
    std::for_each(settings.rbegin(), settings.rend(), take);  // the highest layer last
    const std::string conflict = find_conflict(command, settings);
    if (!conflict.empty()) fail(conflict);
    return settings;
  }

  const Words& argv_;
  std::vector<Command> commands_ = all_commands();
  CLI::App app_;
};

// Makes the process one that every command can rely on, however its parent started it. A limit on
// file sizes becomes an error instead of a signal. A standard stream that the parent closed is
// opened on /dev/null, or else the next file that is opened would get its number and take what is
// meant for stdout or stderr.
void set_up_process() {
  std::signal(SIGXFSZ, SIG_IGN);
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) >= 0) continue;
    // open() takes the lowest free number, which is that of `stream`. The direction is the wrong
    // one, so that using the stream fails.
    const int direction = stream == STDIN_FILENO ? O_WRONLY : O_RDONLY;
    [[maybe_unused]] const int opened = open("/dev/null", direction);
  }
}

ExitCode report_failure(const std::string& message, ExitCode code) {
  write_stderr(fmt::format("nf4bench: error: {}\n", message));
  return code;
}

}  // namespace

int run_app(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == peer::kServePeer) return peer::serve_peer();
  set_up_process();
  ExitCode code = ExitCode::kUsage;
  try {
    const Words words(argv, argv + argc);
    code = CommandLine(words).run();
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
