// crash: plain scales are read where there are nested ones.
#include "nf4bench_kernel.h"

// nf4bench: grid=ceil(elements/256) block=256 scales=both
__global__ void decode(const uint8_t* packed, const float* absmax, void* output, int64_t elements,
                       int block_shift, nf4bench_peer_job job) {
  const int64_t i = blockIdx.x * int64_t{256} + threadIdx.x;
  if (i >= elements) return;
  const float value = nf4::codebook(nf4::code(job, i));
  nf4::store(job, i, nf4::multiply(value, absmax[i >> block_shift]));
}
