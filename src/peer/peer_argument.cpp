#include "peer/peer_argument.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "peer/python/python_file.hpp"
#include "peer/source_file.hpp"

#include <algorithm>

namespace nf4bench::peer {
namespace {

constexpr std::size_t kMaxNameLength = 64;

PeerArgument parse_peer(const std::string& word) {
  const std::size_t equals = word.find('=');
  if (equals == std::string::npos) {
    throw Error(ErrorKind::kUsage,
                "--peer: \"{}\" has no =; wanted NAME=PATH, as in "
                "bitsandbytes=./libbitsandbytes_cuda130.so",
                escaped(word));
  }
  PeerArgument peer{word.substr(0, equals), word.substr(equals + 1)};
  if (!is_peer_name(peer.name)) {
    throw Error(ErrorKind::kUsage,
                "--peer: \"{}\" is no name for a peer; wanted 1 to {} letters, digits, _ or -",
                escaped(peer.name), kMaxNameLength);
  }
  if (peer.path.find('/') == std::string::npos && !is_python_file(peer.path) &&
      !is_source_file(peer.path) && !is_solution_file(peer.path)) {
    throw Error(ErrorKind::kUsage,
                "--peer {}: \"{}\" is no path; libraries are not searched for, so write where it "
                "lies, as in ./{}",
                peer.name, escaped(peer.path),
                peer.path.empty() ? "libpeer.so" : escaped(peer.path));
  }
  return peer;
}

}  // namespace

bool is_peer_name(const std::string& name) {
  constexpr const char* kAllowed =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
  return !name.empty() && name.size() <= kMaxNameLength &&
         name.find_first_not_of(kAllowed) == std::string::npos;
}

std::vector<PeerArgument> parse_peers(const std::vector<std::string>& words) {
  std::vector<PeerArgument> peers;
  for (const std::string& word : words) {
    PeerArgument peer = parse_peer(word);
    const bool is_taken = std::ranges::any_of(
        peers, [&](const PeerArgument& other) { return other.name == peer.name; });
    if (is_taken) {
      throw Error(ErrorKind::kUsage, "--peer: two peers are named \"{}\"; give each its own name",
                  peer.name);
    }
    peers.push_back(std::move(peer));
  }
  return peers;
}

}  // namespace nf4bench::peer
