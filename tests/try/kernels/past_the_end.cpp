// wrong: two elements at once, one of them behind an odd count.
#include "nf4bench_kernel.h"

static int decode(const nf4bench_peer_job* job, void*) {
  for (int64_t i = 0; i < job->elements; i += 2) {
    nf4::store(*job, i, nf4::value(*job, i));
    nf4::store(*job, i + 1, nf4::value(*job, i + 1));
  }
  return 0;
}
NF4BENCH_CPU_DECODE(decode)
