#pragma once

#include "cli/options/command_view.hpp"

#include <string>
#include <vector>

namespace nf4bench::cli {

// One line for people about a command line that could not be parsed: what was wrong with it, the
// nearest command or option for a misspelt one, and which help to read. `views` are those of the
// program, `problem` is what the parser says.
std::string explain_usage_error(const std::vector<CommandView>& views, const std::string& problem,
                                const std::vector<std::string>& argv);

}  // namespace nf4bench::cli
