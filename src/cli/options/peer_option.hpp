#pragma once

#include "cli/options/options.hpp"
#include "operation/operation.hpp"
#include "peer/peers.hpp"

#include <string>
#include <vector>

namespace nf4bench::cli {

// --peer NAME=PATH, in every command that has variants.
Option add_peer_option(CLI::App& command, std::vector<std::string>& words);

// Loads the peers for `operation` on `device`. absence_warnings() tells of those that cannot be
// used.
peer::Peers load_peers(const std::vector<peer::PeerArgument>& arguments,
                       const device::Device& device, const operation::Operation& operation);

// The same peers, loaded for several operations.
using LoadedPeers = std::vector<const peer::Peers*>;

// Why peers that offer nothing in any of `loaded` do not; one line each.
std::vector<std::string> absence_warnings(const LoadedPeers& loaded);

// Writes them to stderr.
void warn_of_absent(const LoadedPeers& loaded);

// True when `pattern`, a variant's name or wildcard, can only mean a peer that is not there.
bool is_of_absent_peer(const std::string& pattern, const LoadedPeers& loaded);

// `patterns` without those that match only peers that could not be loaded. Throws Error(kInput)
// when no pattern is left, because an empty list would mean all variants.
std::vector<std::string> without_absent_peers(const std::vector<std::string>& patterns,
                                              const LoadedPeers& loaded);

}  // namespace nf4bench::cli
