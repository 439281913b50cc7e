// It says why on stderr, and aborts.
#include "honest.hpp"

#include <cstdio>
#include <cstdlib>

static int give_up(const nf4bench_peer_job*, void*) {
  std::fputs("cannot go on\n", stderr);
  std::abort();
}
NF4BENCH_CPU_DECODE(give_up)
