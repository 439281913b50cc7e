#include "cli/commands/completion_command.hpp"

#include "base/terminal.hpp"
#include "base/text.hpp"
#include "cli/describe/completion.hpp"
#include "cli/describe/man_page.hpp"
#include "cli/options/choices.hpp"
#include "report/tool.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

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

struct Shell {
  const char* name;
  std::string (*script)(const std::vector<CommandView>&);
};
constexpr Shell kShells[] = {
    {"bash", bash_completion}, {"zsh", zsh_completion}, {"fish", fish_completion}};

std::vector<std::string> shell_names() {
  std::vector<std::string> names;
  for (const Shell& shell : kShells) names.emplace_back(shell.name);
  return names;
}

}  // namespace

CLI::App* add_completion_command(CLI::App& app, CompletionArguments& arguments) {
  CLI::App* command =
      add_command(app, "completion", "Print the script that completes words in a shell", kExamples);
  add_single(*command, arguments.shell, {"shell", "", "bash, zsh or fish"})
      .required()
      .one_of(shell_names());
  return command;
}

CLI::App* add_man_command(CLI::App& app) {
  return add_command(app, "man", "Print the manual page as roff", kManExamples);
}

ExitCode print_completion(const CompletionArguments& arguments,
                          const std::vector<CommandView>& views) {
  for (const Shell& shell : kShells) {
    if (arguments.shell != shell.name) continue;
    write_stdout(shell.script(views));
    return ExitCode::kOk;
  }
  throw Error(
      ErrorKind::kUsage,
      fmt::format("completion: \"{}\" is not one of {}.{}", escaped(arguments.shell),
                  fmt::join(shell_names(), ", "), did_you_mean(arguments.shell, shell_names())));
}

ExitCode print_man_page(const std::vector<CommandView>& views) {
  write_stdout(man_page(views, report::tool_info().version));
  return ExitCode::kOk;
}

}  // namespace nf4bench::cli
