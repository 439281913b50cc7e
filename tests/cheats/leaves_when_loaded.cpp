// It ends its process as if all were well, before it is asked for anything.
#include "honest.hpp"

#include <unistd.h>

__attribute__((constructor)) static void leave() {
  _exit(0);
}
static int never(const nf4bench_peer_job* job, void*) {
  decode(*job);
  return 0;
}
NF4BENCH_CPU_DECODE(never)
