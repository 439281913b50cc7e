#pragma once

#include "base/error.hpp"
#include "cli/context.hpp"
#include "cli/options/options.hpp"
#include "record/run_options.hpp"

#include <string>

namespace nf4bench::cli {

// The arguments of "nf4bench inspect" as they were typed.
struct InspectArguments {
  std::string input;
  record::Inputs inputs;  // besides `input`
  std::string tensor_regex;
  bool all = false;
  bool json = false;
};

CLI::App* add_inspect_command(CLI::App& app, InspectArguments& arguments);

// Shows what an input holds without reading weights.
ExitCode execute(const InspectArguments& arguments, const Context& context);

}  // namespace nf4bench::cli
