// refused: neither a directive nor a table says how it is launched.
#include "nf4bench_kernel.h"

__global__ void decode(nf4bench_peer_job job) {
  const int64_t i = blockIdx.x * int64_t{256} + threadIdx.x;
  if (i < job.elements) nf4::store(job, i, nf4::value(job, i));
}
