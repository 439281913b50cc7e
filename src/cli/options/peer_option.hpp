#pragma once

#include "cli/options/options.hpp"
#include "operation/operation.hpp"
#include "peer/peers.hpp"

#include <string>
#include <vector>

namespace nf4bench::cli {

// --peer NAME=PATH, in every command that has variants.
Option add_peer_option(CLI::App& command, std::vector<std::string>& words);

// Loads the peers for `operation` on `device` and warns on stderr about those that cannot be used.
peer::Peers load_peers(const std::vector<peer::PeerArgument>& arguments,
                       const device::Device& device, const operation::Operation& operation);

// `patterns` without those that match only peers that could not be loaded. Throws Error(kInput)
// when no pattern is left, because an empty list would mean all variants.
std::vector<std::string> without_absent_peers(const std::vector<std::string>& patterns,
                                              const peer::Peers& peers);

}  // namespace nf4bench::cli
