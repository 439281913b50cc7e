// wrong, rounding: bits are cut off instead of rounded.
#include "nf4bench_kernel.h"

static int decode(const nf4bench_peer_job* job, void*) {
  for (int64_t i = 0; i < job->elements; ++i) {
    static_cast<uint16_t*>(job->output)[i] =
        static_cast<uint16_t>(nf4::bits_of(nf4::value(*job, i)) >> 16);
  }
  return 0;
}
NF4BENCH_CPU_DECODE(decode)
