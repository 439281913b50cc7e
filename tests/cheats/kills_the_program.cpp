// The process that judges it is killed.
#include "honest.hpp"

#include <csignal>
#include <unistd.h>

static int kill_parent(const nf4bench_peer_job* job, void*) {
  static int calls = 0;
  decode(*job);
  if (calls++ == 20) kill(getppid(), SIGKILL);
  return 0;
}
NF4BENCH_CPU_DECODE(kill_parent)
