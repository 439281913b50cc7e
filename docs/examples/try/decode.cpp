#include "nf4bench_kernel.h"

// Element by element, on one thread: right, and slow.
static int decode(const nf4bench_peer_job* job, void* /*stream*/) {
  for (int64_t i = 0; i < job->elements; ++i) nf4::store(*job, i, nf4::value(*job, i));
  return 0;
}
NF4BENCH_CPU_DECODE(decode)
