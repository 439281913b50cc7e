#include "peer/loaded_peers.hpp"

#include "base/error.hpp"

#include <algorithm>

namespace nf4bench::peer {

Peers load_peers(const std::vector<PeerArgument>& arguments, const device::Device& device,
                 const operation::Operation& operation) {
  const record::DeviceInfo& info = device.info();
  const PeerHost host = {.kind = info.kind,
                         .operation = operation.name,
                         .compute_capability = info.compute_capability,
                         .tools = cuda_tools()};
  return {arguments, host, operation.catalog(info.kind).variants};
}

std::vector<std::string> absence_warnings(const LoadedPeers& loaded) {
  std::vector<std::string> lines;
  if (loaded.empty()) return lines;
  const std::vector<std::string>& absent = loaded.front()->absent();
  for (std::size_t i = 0; i < absent.size(); ++i) {
    const bool is_absent_everywhere = std::ranges::all_of(loaded, [&](const Peers* peers) {
      return std::ranges::find(peers->absent(), absent[i]) != peers->absent().end();
    });
    if (is_absent_everywhere) lines.push_back(loaded.front()->warnings()[i]);
  }
  for (const Peers* const peers : loaded) {
    for (const std::string& note : peers->notes()) {
      if (std::ranges::find(lines, note) == lines.end()) lines.push_back(note);
    }
  }
  return lines;
}

bool is_of_absent_peer(const std::string& pattern, const LoadedPeers& loaded) {
  return std::ranges::all_of(loaded,
                             [&](const Peers* peers) { return peers->is_of_absent_peer(pattern); });
}

std::vector<std::string> without_absent_peers(const std::vector<std::string>& patterns,
                                              const LoadedPeers& loaded) {
  std::vector<std::string> present = patterns;
  std::erase_if(present,
                [&](const std::string& pattern) { return is_of_absent_peer(pattern, loaded); });
  if (present.empty() && !patterns.empty()) {
    throw Error(ErrorKind::kInput,
                "--variant names nothing but peers that are not there; see the warnings above");
  }
  return present;
}

}  // namespace nf4bench::peer
