#pragma once

#include "base/error.hpp"
#include "cli/context.hpp"
#include "cli/options/options.hpp"

#include <string>

namespace nf4bench::cli {

// The arguments of "nf4bench doctor" as they were typed.
struct DoctorArguments {
  std::string device = "auto";
  std::string operation = "dequantize";
  bool json = false;
};

CLI::App* add_doctor_command(CLI::App& app, DoctorArguments& arguments);

// Says what would make a measurement here untrustworthy.
ExitCode execute(const DoctorArguments& arguments, const Context& context);

}  // namespace nf4bench::cli
