#pragma once

#include "cli/options/options.hpp"
#include "peer/loaded_peers.hpp"

#include <string>
#include <vector>

namespace nf4bench::cli {

// --peer NAME=PATH, in every command that has variants.
Option add_peer_option(CLI::App& command, std::vector<std::string>& words);

// Writes absence_warnings() to stderr.
void warn_of_absent(const peer::LoadedPeers& loaded);

}  // namespace nf4bench::cli
