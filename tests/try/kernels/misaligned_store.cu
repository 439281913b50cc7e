// crash: a store of two elements at an odd one.
#include "nf4bench_kernel.h"

// nf4bench: grid=1 block=1 dtype=float16
__global__ void decode(nf4bench_peer_job job) {
  *reinterpret_cast<unsigned*>(static_cast<unsigned short*>(job.output) + 1) = 0;
}
