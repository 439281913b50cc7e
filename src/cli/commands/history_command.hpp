#pragma once

#include "base/error.hpp"
#include "cli/context.hpp"
#include "cli/options/options.hpp"

#include <string>
#include <vector>

namespace nf4bench::cli {

// The arguments of "nf4bench history" as they were typed.
struct HistoryArguments {
  std::vector<std::string> inputs;
  std::string metric = "time";
  std::vector<std::string> variants;
  std::vector<std::string> units;
  std::string threshold;  // empty: the default
  std::string noise;
  bool changed = false;
  bool json = false;
};

CLI::App* add_history_command(CLI::App& app, HistoryArguments& arguments);

// Shows how the cells of many reports changed over time, and when.
ExitCode execute(const HistoryArguments& arguments, const Context& context);

}  // namespace nf4bench::cli
