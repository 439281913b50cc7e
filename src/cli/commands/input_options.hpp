#pragma once

#include "cli/options/options.hpp"
#include "record/run_options.hpp"

#include <string>

namespace nf4bench::cli {

// Declares --raw and --shape-of, under the heading `group` of the help if there is one.
void add_input_options(CLI::App& command, record::Inputs& inputs, const char* group = nullptr);

// Declares the argument "input" of a command that reads one input, which --raw may give instead,
// and these options.
void add_one_input(CLI::App& command, std::string& path, record::Inputs& inputs);

// What such a command is to read.
record::Inputs inputs_of(const std::string& path, record::Inputs inputs);

}  // namespace nf4bench::cli
