#pragma once

#include "base/error.hpp"
#include "cli/context.hpp"
#include "cli/options/options.hpp"

#include <string>
#include <vector>

namespace nf4bench::cli {

// The arguments of "nf4bench list" as they were typed.
struct ListArguments {
  std::string what;
  std::string preset;     // whose layers are shown; empty: all presets
  std::string device;     // empty: all
  std::string operation;  // empty: all
  std::vector<std::string> peers;
  bool json = false;
};

CLI::App* add_list_command(CLI::App& app, ListArguments& arguments);

// Shows the variants, devices or presets there are.
ExitCode execute(const ListArguments& arguments, const Context& context);

}  // namespace nf4bench::cli
