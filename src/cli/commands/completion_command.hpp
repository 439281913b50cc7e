#pragma once

#include "base/error.hpp"
#include "cli/describe/command_view.hpp"
#include "cli/options/options.hpp"

#include <string>
#include <vector>

namespace nf4bench::cli {

// The arguments of "nf4bench completion" as they were typed.
struct CompletionArguments {
  std::string shell;
};

CLI::App* add_completion_command(CLI::App& app, CompletionArguments& arguments);
CLI::App* add_man_command(CLI::App& app);

// Prints the completion script for a shell. `views` are those of the program.
ExitCode print_completion(const CompletionArguments& arguments,
                          const std::vector<CommandView>& views);

// Prints the manual page.
ExitCode print_man_page(const std::vector<CommandView>& views);

}  // namespace nf4bench::cli
