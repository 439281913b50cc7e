#pragma once

#include <string>
#include <vector>

namespace nf4bench::cli {

// What every command gets besides its own arguments.
struct Context {
  std::vector<std::string> argv;  // as the process was started
};

}  // namespace nf4bench::cli
