#pragma once

#include "base/error.hpp"
#include "cli/context.hpp"
#include "cli/options/options.hpp"
#include "nf4/synthetic.hpp"

#include <string>
#include <vector>

namespace nf4bench::cli {

// The arguments of "nf4bench synth" as they were typed.
struct SynthArguments {
  std::string output;
  std::vector<std::string> shapes;  // "[NAME=]OUTxIN"
  nf4::SyntheticSpec spec;          // everything but name and shape
  std::string dtype = "bfloat16";
  std::string distribution = "normal";
  bool force = false;
};

CLI::App* add_synth_command(CLI::App& app, SynthArguments& arguments);

// Writes NF4 tensors of random weights as a file or folder.
ExitCode execute(const SynthArguments& arguments, const Context& context);

}  // namespace nf4bench::cli
