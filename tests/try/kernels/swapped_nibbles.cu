// wrong, swapped_nibbles: the low half of a byte first.
#include "nf4bench_kernel.h"

// nf4bench: grid=ceil(elements/256) block=256
__global__ void decode(nf4bench_peer_job job) {
  const int64_t i = blockIdx.x * int64_t{256} + threadIdx.x;
  if (i >= job.elements) return;
  const float value = nf4::codebook(nf4::code(job, i ^ 1));
  nf4::store(job, i, nf4::multiply(value, nf4::scale(job, i >> job.block_shift)));
}
