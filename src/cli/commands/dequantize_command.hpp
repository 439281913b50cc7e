#pragma once

#include "base/error.hpp"
#include "cli/context.hpp"
#include "cli/options/options.hpp"
#include "record/run_options.hpp"

#include <string>

namespace nf4bench::cli {

// The arguments of "nf4bench dequantize" as they were typed.
struct DequantizeArguments {
  std::string input;
  record::Inputs inputs;  // besides `input`
  std::string output;
  std::string device = "auto";
  std::vector<std::string> peers;
  std::string variant;  // empty: the device's flagship
  std::string dtype = "stored";
  std::string tensor_regex;
  bool complete = false;
  bool force = false;
  bool quiet = false;
};

CLI::App* add_dequantize_command(CLI::App& app, DequantizeArguments& arguments);

// Decodes tensors on a device, verifies them and writes them under their own names.
ExitCode execute(const DequantizeArguments& arguments, const Context& context);

}  // namespace nf4bench::cli
