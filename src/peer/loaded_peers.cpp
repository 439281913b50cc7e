#include "peer/loaded_peers.hpp"

#include "base/error.hpp"

#include <algorithm>

namespace nf4bench::peer {

Peers load_peers(const std::vector<PeerArgument>& arguments, device::Device& device,
                 const operation::Operation& operation, const ProcessLimits& limits) {
  const record::DeviceInfo& info = device.info();
  const PeerHost host = {.kind = info.kind,
                         .operation = operation.name,
                         .compute_capability = info.compute_capability,
                         .tools = cuda_tools(),
                         .shared = device.shared_buffers(),
                         .why_not_shared = device.why_not_shared(),
                         .threads = info.multiprocessors,
                         .limits = limits};
  return {arguments, host, operation.catalog(info.kind).variants};
}

std::vector<std::string> absent_peers(const LoadedPeers& loaded) {
  if (loaded.empty()) return {};
  std::vector<std::string> names = loaded.front()->absent();
  std::erase_if(names, [&](const std::string& name) {
    return !std::ranges::all_of(loaded, [&](const Peers* peers) {
      return std::ranges::find(peers->absent(), name) != peers->absent().end();
    });
  });
  return names;
}

std::vector<std::string> absence_warnings(const LoadedPeers& loaded) {
  std::vector<std::string> lines;
  for (const std::string& name : absent_peers(loaded)) {
    const std::vector<std::string>& absent = loaded.front()->absent();
    const auto place = std::ranges::find(absent, name) - absent.begin();
    lines.push_back(loaded.front()->warnings()[static_cast<std::size_t>(place)]);
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
