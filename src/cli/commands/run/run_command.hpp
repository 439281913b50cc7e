#pragma once

#include "cli/options/options.hpp"
#include "record/run_options.hpp"

#include <string>
#include <vector>

namespace nf4bench::cli {

// The arguments of "nf4bench run" as they were typed.
struct RunArguments {
  record::RunOptions options;  // but for what the words below say
  bool plain = false;
  bool nested = false;
  bool no_ceilings = false;
  std::vector<std::string> tokens;
  std::string activations = "normal";
  std::vector<std::string> dtypes = {"stored"};
  std::vector<std::string> caches = {"cold"};
  std::vector<std::string> launches;
  std::string verify = "all";
  std::string samples = "all";
  std::string options_file;  // with all of them; empty: none
};

CLI::App* add_run_command(CLI::App& app, RunArguments& arguments);

// What the arguments say. Throws Error(kUsage), or Error(kInput) for a file of options.
record::RunOptions options_of(const RunArguments& arguments);

}  // namespace nf4bench::cli
