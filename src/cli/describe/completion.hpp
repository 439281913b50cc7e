#pragma once

#include "cli/describe/command_view.hpp"

#include <string>
#include <vector>

namespace nf4bench::cli {

// Scripts that make a shell complete the commands, options and fixed values of nf4bench, and names
// of files where a path is wanted. `views` are those of the program.
std::string bash_completion(const std::vector<CommandView>& views);
std::string zsh_completion(const std::vector<CommandView>& views);
std::string fish_completion(const std::vector<CommandView>& views);

}  // namespace nf4bench::cli
