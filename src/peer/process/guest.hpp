#pragma once

namespace nf4bench::peer {

// The argument that makes this program the process of a peer.
inline constexpr const char* kServePeer = "--serve-peer";

// The main function of such a process: loads the peer that it is told to load, and calls its
// variants, until its socket is closed. Returns the exit code.
int serve_peer();

}  // namespace nf4bench::peer
