// ok: 16 elements of a block at once.
#include "nf4bench_kernel.h"

// nf4bench: grid=ceil(elements/4096) block=256
template <class T>
__global__ void decode(nf4bench_peer_job job, T* output) {
  const int64_t first = (blockIdx.x * int64_t{256} + threadIdx.x) * 16;
  if (first + 16 > job.elements) {
    for (int64_t i = first; i < job.elements; ++i) nf4::store(job, i, nf4::value(job, i));
    return;
  }
  const float scale = nf4::scale(job, first >> job.block_shift);
  const uint2 codes = *reinterpret_cast<const uint2*>(job.packed + first / 2);
  alignas(16) T values[16];
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const unsigned pair = (i < 4 ? codes.x : codes.y) >> (8 * (i % 4)) & 255;
    values[2 * i] = T(nf4::multiply(nf4::codebook(pair >> 4), scale));
    values[2 * i + 1] = T(nf4::multiply(nf4::codebook(pair & 15), scale));
  }
#pragma unroll
  for (int i = 0; i < int(sizeof(T)); ++i) {
    reinterpret_cast<uint4*>(output + first)[i] = reinterpret_cast<const uint4*>(values)[i];
  }
}
