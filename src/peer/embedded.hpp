#pragma once

namespace nf4bench::peer {

// The text of glue.py.
extern const char* const kPythonGlue;

// The text of nf4bench_peer.h.
extern const char* const kPeerHeader;

}  // namespace nf4bench::peer
