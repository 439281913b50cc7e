// unsupported: products with experts are not tried, but measured by run.
#include "nf4bench_kernel.h"

// The weight of an expert, rounded to the type of the output, times an input.
__device__ float product_of(const nf4bench_peer_job& job, int64_t x, int64_t w) {
  uint16_t rounded = 0;
  nf4bench_peer_job element = job;
  element.output = &rounded;
  nf4::store(element, 0, nf4::value(job, w));
  element.input = &rounded;
  return nf4::input(job, x) * nf4::input(element, 0);
}

// nf4bench: grid=ceil(outputs/128),tokens*top_k block=128
__global__ void experts(nf4bench_peer_job job, const int64_t* ids) {
  const int64_t n = blockIdx.x * int64_t{128} + threadIdx.x;
  const int64_t row = blockIdx.y;
  const int64_t slots = job.sums_slots ? job.top_k : 1;  // of a row
  if (n >= job.outputs || row >= job.tokens * job.top_k / slots) return;
  float sum = 0.0f;
  for (int64_t slot = row * slots; slot < (row + 1) * slots; ++slot) {
    if (ids[slot] < 0 || ids[slot] >= job.experts) continue;
    const int64_t x = (job.sums_slots ? slot : slot / job.top_k) * job.inputs;
    const int64_t w = (ids[slot] * job.outputs + n) * job.inputs;
    float product = 0.0f;
    for (int64_t k = 0; k < job.inputs; ++k) product += product_of(job, x + k, w + k);
    sum += job.sums_slots ? job.slot_weights[slot] * product : product;
  }
  nf4::store(job, row * job.outputs + n, sum);
}
