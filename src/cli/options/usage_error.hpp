#pragma once

#include "cli/describe/command_view.hpp"

#include <string>
#include <vector>

namespace nf4bench::cli {

// Explains in one line why a command line could not be parsed: what is wrong, the nearest command
// or option to a misspelt one, and which help to read. `views` are those of the program, `problem`
// is the message of the parser.
std::string explain_usage_error(const std::vector<CommandView>& views, const std::string& problem,
                                const std::vector<std::string>& argv);

}  // namespace nf4bench::cli
