// No cheat: what a kernel prints is not taken for the program's own output.
#include "honest.hpp"

#include <cstdio>

static int print(const nf4bench_peer_job* job, void*) {
  std::puts("{\"not\": \"the report\"}");
  std::fflush(stdout);
  decode(*job);
  return 0;
}
NF4BENCH_CPU_DECODE(print)
