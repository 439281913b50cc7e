// compile_error: two of them, in lines 5 and 6.
#include "nf4bench_kernel.h"

static int decode(const nf4bench_peer_job* job, void*) {
  int64_t i = job->no_such_member;
  return unknown(i);
}
NF4BENCH_CPU_DECODE(decode)
