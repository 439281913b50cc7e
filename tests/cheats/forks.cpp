// Each call leaves a copy of its process behind, which goes on from there.
#include "honest.hpp"

#include <sys/wait.h>
#include <unistd.h>

static int multiply_itself(const nf4bench_peer_job* job, void*) {
  const pid_t copy = fork();
  decode(*job);
  if (copy > 0) waitpid(copy, nullptr, 0);  // so that it does not write when others do
  return 0;
}
NF4BENCH_CPU_DECODE(multiply_itself)
