#include "nf4bench_kernel.h"

// A thread for each element: right, and slow.
__global__ void decode_element(nf4bench_peer_job job) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < job.elements) nf4::store(job, i, nf4::value(job, i));
}

static int decode(const nf4bench_peer_job* job, void* stream) {
  const int64_t blocks = (job->elements + 255) / 256;
  decode_element<<<unsigned(blocks), 256, 0, static_cast<cudaStream_t>(stream)>>>(*job);
  return cudaGetLastError();
}
NF4BENCH_CUDA_DECODE(decode)
