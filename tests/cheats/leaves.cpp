// It ends its process at once, with what looks like an error of another.
#include "honest.hpp"

#include <unistd.h>

static int leave(const nf4bench_peer_job*, void*) {
  _exit(7);
}
NF4BENCH_CPU_DECODE(leave)
