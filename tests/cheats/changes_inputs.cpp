// The weight is repacked in place, so that others find another one.
#include "honest.hpp"

static int change(const nf4bench_peer_job* job, void*) {
  const_cast<uint8_t*>(job->packed)[0] ^= 1;
  decode(*job);
  return 0;
}
NF4BENCH_CPU_DECODE(change)
