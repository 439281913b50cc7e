#pragma once

#include "cli/options/options.hpp"
#include "peer/peers.hpp"

#include <string>
#include <vector>

namespace nf4bench::cli {

// --peer NAME=PATH, in every command that has variants.
Option add_peer_option(CLI::App& command, std::vector<std::string>& words);

// Loads the peers for `device` and says on stderr which of them are not there.
peer::Peers load_peers(const std::vector<peer::PeerArgument>& arguments,
                       const device::Device& device);

// `patterns` without those that name only peers which are not there. Throws Error(kInput) when none
// is left of some: an empty list would mean all variants.
std::vector<std::string> without_absent_peers(const std::vector<std::string>& patterns,
                                              const peer::Peers& peers);

}  // namespace nf4bench::cli
