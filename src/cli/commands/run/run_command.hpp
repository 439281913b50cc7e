#pragma once

#include "cli/options/options.hpp"
#include "nf4/synthetic.hpp"
#include "plan/sources.hpp"
#include "record/settings.hpp"

#include <string>
#include <vector>

namespace nf4bench::cli {

// The arguments of "nf4bench run" as they were typed.
struct RunArguments {
  plan::Inputs inputs;
  std::vector<std::string> shapes;
  std::vector<std::string> presets;
  nf4::SyntheticSpec synthetic;  // of --shape and --preset: blocksize and seed
  bool plain = false;
  bool nested = false;
  std::string tensor_regex;
  std::vector<std::string> variants;
  std::vector<std::string> peers;
  std::string baseline;  // empty: the device's default; "none": no baseline
  std::vector<std::string> operations = {"dequantize"};
  std::vector<std::string> tokens;  // empty: the default
  std::string activations = "normal";
  std::vector<std::string> dtypes = {"stored"};
  std::string device = "auto";
  std::vector<std::string> caches = {"cold"};
  std::vector<std::string> launches;  // empty: the device's first
  record::Settings options;           // its numbers; its lists are made from the words above
  bool all_tensors = false;
  bool check_company = false;
  bool crossover = false;
  bool no_ceilings = false;
  std::string verify = "all";
  std::string fused_config;
  int threads = 0;
  bool in_turn = false;
  bool together_and_alone = false;
  int together = 1;
  double device_timeout_s = 600.0;
  std::string json;
  std::string shard;   // "I/N"; empty: what the environment says
  bool split = false;  // the geometries over the tasks
  std::string samples = "all";
  bool force = false;
  bool dry_run = false;
  bool quiet = false;
};

CLI::App* add_run_command(CLI::App& app, RunArguments& arguments);

}  // namespace nf4bench::cli
