#pragma once

namespace nf4bench::peer {

// The text of glue.py.
extern const char* const kPythonGlue;

// The text of nf4bench_peer.h.
extern const char* const kPeerHeader;

// The text of nf4bench_kernel.h.
extern const char* const kKernelHeader;

}  // namespace nf4bench::peer
