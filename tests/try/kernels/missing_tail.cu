// wrong, tail: the last elements belong to no thread.
#include "nf4bench_kernel.h"

// nf4bench: grid=floor(elements/256) block=256
__global__ void decode(nf4bench_peer_job job) {
  const int64_t i = blockIdx.x * int64_t{256} + threadIdx.x;
  nf4::store(job, i, nf4::value(job, i));
}
