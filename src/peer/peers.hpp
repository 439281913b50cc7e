#pragma once

#include "base/error.hpp"
#include "device/device.hpp"
#include "operation/operation.hpp"
#include "peer/peer_argument.hpp"
#include "peer/peer_host.hpp"
#include "peer/process/remote.hpp"
#include "variant.hpp"

#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace nf4bench::peer {

// The variants of a peer, which this process loads. Their strings are kept in `strings`. Throws
// Error(kInput) when nothing in it can be used on `host`.
std::vector<kernels::Variant> load_here(const PeerArgument& argument, const PeerHost& host,
                                        std::deque<std::string>& strings);

// The peers of one command for one operation, loaded. A library that cannot be used causes a
// warning, not an error: the others and the built-in variants are measured. Owns the names of the
// variants. Where time is taken in those processes, built-in variants have one, too, so that the
// place favours nobody. What is loaded into this process stays until it ends; the processes of the
// others end with this object.
class Peers {
 public:
  // Throws Error(kUsage) when a peer's variant would have the name of one in `built_in`.
  Peers(const std::vector<PeerArgument>& arguments, const PeerHost& host,
        const std::vector<kernels::Variant>& built_in);

  // The built-in variants, then those of each peer in the order given.
  const std::vector<kernels::Variant>& variants() const { return variants_; }

  // One line for each peer that cannot be used here: "peer NAME: why".
  const std::vector<std::string>& warnings() const { return warnings_; }

  // One line for each peer that did to this process what it should not when it was loaded.
  const std::vector<std::string>& notes() const { return notes_; }

  // The names of the peers that cannot be used, in the order of their warnings.
  const std::vector<std::string>& absent() const { return absent_; }

  // Processor time that the processes of peers have taken so far.
  double processor_seconds() const;

  // True when `pattern`, a variant's name or wildcard, can only mean a peer that is not there.
  bool is_of_absent_peer(const std::string& pattern) const;

 private:
  void add(const PeerArgument& argument, const PeerHost& host);
  void decline(const PeerArgument& argument, const Error& why);
  std::vector<kernels::Variant> load(const PeerArgument& argument, const PeerHost& host);

  std::deque<std::string> strings_;  // elements stay where they are: variants point to them
  std::vector<kernels::Variant> variants_;
  std::vector<std::string> warnings_;
  std::vector<std::string> absent_;
  std::vector<std::string> notes_;
  std::vector<std::unique_ptr<Remote>> remotes_;  // borrowed by variants
};

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
