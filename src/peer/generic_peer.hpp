#pragma once

#include "peer/peer_host.hpp"
#include "peer/shared_library.hpp"
#include "variant.hpp"

#include <deque>
#include <string>
#include <vector>

namespace nf4bench::peer {

// True when `library` exports what include/nf4bench_peer.h describes, in any version.
bool is_generic_peer(const SharedLibrary& library);

// The library's variants for the operation and the kind of device of `host`, called `name` or
// "`name`.VARIANT"; there may be none. Their strings are kept in `strings`. Throws Error(kInput)
// saying which entry of the library's table breaks which rule of the header, or that its version is
// not known.
std::vector<kernels::Variant> generic_variants(const SharedLibrary& library,
                                               const std::string& name, const PeerHost& host,
                                               std::deque<std::string>& strings);

}  // namespace nf4bench::peer
