#pragma once

#include "base/error.hpp"
#include "cli/context.hpp"
#include "cli/options/options.hpp"

#include <string>
#include <vector>

namespace nf4bench::cli {

// The arguments of "nf4bench merge" as they were typed.
struct MergeArguments {
  std::vector<std::string> inputs;
  std::string output;
  std::vector<std::string> by;
  std::string since;  // empty: by the newest
  std::string expect;
  bool force = false;
};

CLI::App* add_merge_command(CLI::App& app, MergeArguments& arguments);

// Writes what the reports of many machines say into one file.
ExitCode execute(const MergeArguments& arguments, const Context& context);

}  // namespace nf4bench::cli
