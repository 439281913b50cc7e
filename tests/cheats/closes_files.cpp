// All files of its process are closed, that to the program among them.
#include "honest.hpp"

#include <unistd.h>

static int close_all(const nf4bench_peer_job* job, void*) {
  for (int file = 0; file < 1000; ++file) close(file);
  decode(*job);
  return 0;
}
NF4BENCH_CPU_DECODE(close_all)
