#pragma once

#include "cli/options/setting.hpp"

#include <string>
#include <vector>

namespace nf4bench::cli {

// What a configuration file says of one command.
struct Section {
  CommandApp* command = nullptr;
  std::vector<Setting> settings;
};

// Reads a configuration file: TOML with a section for each command of `app`, in which the options
// have their long names without dashes. Throws Error(kUsage) with file, line and key, and the
// nearest name for a misspelt one.
std::vector<Section> read_config(const std::string& path, CommandApp& app);

}  // namespace nf4bench::cli
