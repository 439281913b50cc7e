#pragma once

#include <string>
#include <vector>

namespace nf4bench::peer {

// What one --peer says.
struct PeerArgument {
  std::string name;      // its variants are called that, or begin with it
  std::string path;      // of a shared library, which holds a slash, or of a Python or source file
  std::string source{};  // that the library was compiled from; empty: it was given

  const std::string& given() const { return source.empty() ? path : source; }
};

// Reads "NAME=PATH" words. Throws Error(kUsage) for anything else, for a library's path without a
// slash (the dynamic linker would look for it in places that nobody named) and for a name given
// twice.
std::vector<PeerArgument> parse_peers(const std::vector<std::string>& words);

// Letters, digits, '_' and '-', 1 to 64 of them.
bool is_peer_name(const std::string& name);

}  // namespace nf4bench::peer
