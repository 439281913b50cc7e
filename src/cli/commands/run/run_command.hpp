#pragma once

#include "cli/options/options.hpp"
#include "record/run_options.hpp"

#include <string>
#include <vector>

namespace nf4bench::cli {

// The arguments of "nf4bench run".
struct RunArguments {
  record::RunOptions options;
  std::string options_file;  // with all of them instead; empty: none
};

CLI::App* add_run_command(CLI::App& app, RunArguments& arguments);

// What the arguments say. Throws Error(kInput) for a file of options.
record::RunOptions options_of(const RunArguments& arguments);

}  // namespace nf4bench::cli
