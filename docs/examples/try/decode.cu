#include "nf4bench_kernel.h"

// A thread for each element: right, and slow.
// nf4bench: grid=ceil(elements/256) block=256
__global__ void decode(nf4bench_peer_job job) {
  const int64_t i = blockIdx.x * int64_t{256} + threadIdx.x;
  if (i < job.elements) nf4::store(job, i, nf4::value(job, i));
}
