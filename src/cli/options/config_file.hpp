#pragma once

#include "cli/options/settings.hpp"

#include <string>
#include <vector>

namespace nf4bench::cli {

// Reads a configuration file: TOML with a section for each command, in which the options have their
// long names without dashes. The whole file is checked; what it says of `command`, one of
// `views`, is returned. Throws Error(kUsage) with file, line and key, and the nearest name for a
// misspelt one.
std::vector<Setting> settings_from_file(const std::string& path,
                                        const std::vector<CommandView>& views,
                                        const CommandView& command, const TryToParse& try_to_parse);

}  // namespace nf4bench::cli
