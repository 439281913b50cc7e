// ok: a thread holds more values than it has registers.
#include "nf4bench_kernel.h"

// nf4bench: grid=ceil(elements/16384) block=256 dtype=float16
__global__ void __maxnreg__(24) decode(nf4bench_peer_job job, __half* output) {
  const int64_t first = blockIdx.x * int64_t{16384} + threadIdx.x;
  float values[64];
#pragma unroll
  for (int i = 0; i < 64; ++i) {
    const int64_t at = first + i * 256;
    values[i] = at < job.elements ? nf4::value(job, at) : 0.0f;
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 64; ++i) {
    if (first + i * 256 < job.elements) output[first + i * 256] = __float2half_rn(values[i]);
  }
}
