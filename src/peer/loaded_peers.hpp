#pragma once

#include "device/device.hpp"
#include "operation/operation.hpp"
#include "peer/peers.hpp"

#include <string>
#include <vector>

namespace nf4bench::peer {

// Loads the peers for `operation` on `device`. Each has a process of its own, with `limits`, where
// the device shares its buffers. absence_warnings() tells of those that cannot be used.
Peers load_peers(const std::vector<PeerArgument>& arguments, device::Device& device,
                 const operation::Operation& operation, const ProcessLimits& limits = {});

// The same peers, loaded for several operations.
using LoadedPeers = std::vector<const Peers*>;

// The names of peers that offer nothing in any of `loaded`.
std::vector<std::string> absent_peers(const LoadedPeers& loaded);

// Why peers that offer nothing in any of `loaded` do not, and what others did when they were
// loaded; one line each.
std::vector<std::string> absence_warnings(const LoadedPeers& loaded);

// True when `pattern`, a variant's name or wildcard, can only mean a peer that is not there.
bool is_of_absent_peer(const std::string& pattern, const LoadedPeers& loaded);

// `patterns` without those that match only peers that could not be loaded. Throws Error(kInput)
// when no pattern is left, because an empty list would mean all variants.
std::vector<std::string> without_absent_peers(const std::vector<std::string>& patterns,
                                              const LoadedPeers& loaded);

}  // namespace nf4bench::peer
