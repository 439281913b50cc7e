#include "cli/options/peer_option.hpp"

#include "base/error.hpp"
#include "base/terminal.hpp"

#include <fmt/format.h>

namespace nf4bench::cli {

Option add_peer_option(CLI::App& command, std::vector<std::string>& words) {
  return add_repeated(command, words,
                      {"--peer", "NAME=PATH ...",
                       "Variants of somebody else's library: bitsandbytes', or\n"
                       "one made with nf4bench_peer.h (repeatable)"})
      .command_line_only();  // foreign code runs only when the command line names it
}

peer::Peers load_peers(const std::vector<peer::PeerArgument>& arguments,
                       const device::Device& device, const operation::Operation& operation) {
  const record::DeviceInfo& info = device.info();
  const peer::PeerHost host = {.kind = info.kind,
                               .operation = operation.name,
                               .compute_capability = info.compute_capability,
                               .tools = peer::cuda_tools()};
  peer::Peers peers(arguments, host, operation.catalog(info.kind).variants);
  for (const std::string& warning : peers.warnings()) {
    write_stderr(fmt::format("nf4bench: warning: {}\n", warning));
  }
  return peers;
}

std::vector<std::string> without_absent_peers(const std::vector<std::string>& patterns,
                                              const peer::Peers& peers) {
  std::vector<std::string> present = patterns;
  std::erase_if(present,
                [&](const std::string& pattern) { return peers.is_of_absent_peer(pattern); });
  if (present.empty() && !patterns.empty()) {
    throw Error(ErrorKind::kInput,
                "--variant names nothing but peers that are not there; see the warnings above");
  }
  return present;
}

}  // namespace nf4bench::cli
