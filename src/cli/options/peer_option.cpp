#include "cli/options/peer_option.hpp"

#include "base/terminal.hpp"

#include <fmt/format.h>

namespace nf4bench::cli {

Option add_peer_option(CLI::App& command, std::vector<std::string>& words) {
  return add_repeated(command, words,
                      {"--peer", "NAME=PATH ...",
                       "Variants of somebody else's library: bitsandbytes', or\n"
                       "one made with nf4bench_peer.h; or functions of a\n"
                       "Python file (repeatable)"})
      .command_line_only();  // foreign code runs only when the command line names it
}

void warn_of_absent(const peer::LoadedPeers& loaded) {
  for (const std::string& warning : peer::absence_warnings(loaded)) {
    write_stderr(fmt::format("nf4bench: warning: {}\n", warning));
  }
}

}  // namespace nf4bench::cli
