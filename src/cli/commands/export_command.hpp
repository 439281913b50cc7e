#pragma once

#include "base/error.hpp"
#include "cli/context.hpp"
#include "cli/options/options.hpp"

#include <string>

namespace nf4bench::cli {

// The arguments of "nf4bench export" as they were typed.
struct ExportArguments {
  std::string report;
  std::string to;
  std::string output = "-";
  bool force = false;
  std::string metric = "time";
};

CLI::App* add_export_command(CLI::App& app, ExportArguments& arguments);

// Writes a report in the words of another tool, or as a page.
ExitCode execute(const ExportArguments& arguments, const Context& context);

}  // namespace nf4bench::cli
