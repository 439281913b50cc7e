#pragma once

namespace nf4bench::peer {

// The text of glue.py.
extern const char* const kPythonGlue;

// The text of nf4bench_peer.h.
extern const char* const kPeerHeader;

// The text of nf4bench_kernel.h.
extern const char* const kKernelHeader;

// The text of kernel/pipes.txt: the pipes of a multiprocessor, and the instructions that occupy
// each.
extern const char* const kPipes;

}  // namespace nf4bench::peer
