#pragma once

#include "cli/describe/command_view.hpp"

#include <string>
#include <vector>

namespace nf4bench::cli {

// The manual page nf4bench(1) as roff. `views` are those of the program.
std::string man_page(const std::vector<CommandView>& views, const std::string& version);

}  // namespace nf4bench::cli
