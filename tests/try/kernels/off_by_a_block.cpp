// wrong, off_by_a_block: the scale of the block before.
#include "nf4bench_kernel.h"

static int decode(const nf4bench_peer_job* job, void*) {
  for (int64_t i = 0; i < job->elements; ++i) {
    const int64_t block = i >> job->block_shift;
    nf4::store(*job, i,
               nf4::multiply(nf4::codebook(nf4::code(*job, i)),
                             nf4::scale(*job, block > 0 ? block - 1 : 0)));
  }
  return 0;
}
NF4BENCH_CPU_DECODE(decode)
