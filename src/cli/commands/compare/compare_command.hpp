#pragma once

#include "cli/options/options.hpp"

#include <string>
#include <vector>

namespace nf4bench::cli {

// The arguments of "nf4bench compare" as they were typed.
struct CompareArguments {
  std::vector<std::string> reports;  // BASE NEW...; all are NEW when an option names the base
  std::vector<std::string> base;     // further files of the base
  std::string baseline;              // name in the store
  std::string save_baseline;         // name in the store
  std::string baseline_dir = ".nf4bench/baselines";
  bool force = false;
  std::string metric = "time";
  std::vector<std::string> variants;
  std::string threshold;  // empty: the default
  std::string noise;
  std::vector<std::string> allow;
  bool gate = false;
  bool strict = false;
  std::string confirm;
  std::string format = "table";
  bool json = false;
};

CLI::App* add_compare_command(CLI::App& app, CompareArguments& arguments);

}  // namespace nf4bench::cli
