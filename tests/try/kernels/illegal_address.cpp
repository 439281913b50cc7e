// crash: plain scales are read where there are nested ones.
#include "nf4bench_kernel.h"

static int decode(const nf4bench_peer_job* job, void*) {
  for (int64_t i = 0; i < job->elements; ++i) {
    nf4::store(
        *job, i,
        nf4::multiply(nf4::codebook(nf4::code(*job, i)), job->absmax[i >> job->block_shift]));
  }
  return 0;
}
NF4BENCH_CPU_DECODE(decode)
