#pragma once

#include "base/error.hpp"
#include "cli/options/options.hpp"

#include <string>

namespace nf4bench::cli {

class CommandApp;

// The arguments of "nf4bench completion" as they were typed.
struct CompletionArguments {
  std::string shell;
};

CLI::App* add_completion_command(CLI::App& app, CompletionArguments& arguments);
CLI::App* add_man_command(CLI::App& app);

// Prints the completion script for a shell, made from the definitions in `app`.
ExitCode print_completion(const CompletionArguments& arguments, const CommandApp& app);

// Prints the manual page.
ExitCode print_man_page(const CommandApp& app);

}  // namespace nf4bench::cli
