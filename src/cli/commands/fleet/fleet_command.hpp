#pragma once

#include "base/error.hpp"
#include "cli/context.hpp"
#include "cli/options/options.hpp"

#include <string>

namespace nf4bench::cli {

// The arguments of "nf4bench fleet" as they were typed.
struct FleetArguments {
  std::string input;
  std::string format = "table";
  bool all = false;
  bool gate = false;
  bool json = false;
};

CLI::App* add_fleet_command(CLI::App& app, FleetArguments& arguments);

// Ranks the units of a merged file and says which are slow.
ExitCode execute(const FleetArguments& arguments, const Context& context);

}  // namespace nf4bench::cli
