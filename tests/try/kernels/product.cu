// ok: a matrix product, a thread for each output.
#include "nf4bench_kernel.h"

// nf4bench: grid=ceil(outputs/128),tokens block=128
__global__ void product(nf4bench_peer_job job, const void* input) {
  const int64_t n = blockIdx.x * int64_t{128} + threadIdx.x;
  const int64_t m = blockIdx.y;
  if (n >= job.outputs) return;
  float sum = 0.0f;
  for (int64_t k = 0; k < job.inputs; ++k) {
    uint16_t rounded = 0;
    nf4bench_peer_job element = job;
    element.output = &rounded;
    nf4::store(element, 0, nf4::value(job, n * job.inputs + k));
    element.input = &rounded;
    sum += nf4::input(job, m * job.inputs + k) * nf4::input(element, 0);
  }
  nf4::store(job, m * job.outputs + n, sum);
}
