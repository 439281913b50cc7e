// Fused; the codebook as 16 floats in shared memory. They lie in 16 different banks, so that any
// lanes read any entries without conflict.

#include "cuda/codebook.cuh"
#include "cuda/dequantize/fused_tile.cuh"
#include "cuda/dequantize/variants.hpp"

namespace nf4bench::kernels::cuda {
namespace {

struct SharedDecoder {
  const float* table;

  __device__ SharedDecoder() {
    __shared__ float codebook[kCodes];
    if (threadIdx.x < kCodes) codebook[threadIdx.x] = kCodebook[threadIdx.x];
    __syncthreads();
    table = codebook;
  }

  template <int kCount>
  __device__ void decode(std::uint32_t word, float (&values)[kCount]) const {
#pragma unroll
    for (int i = 0; i < kCount; ++i) values[i] = table[(word >> nibble_shift(i)) & 15];
  }
};

}  // namespace

Variant lut_shared() {
  Variant variant;
  variant.name = "lut_shared";
  variant.summary = "fused; codebook as 16 floats in shared memory";
  variant.traits.mirrors = "arXiv 2604.02556";
  variant.launch = launch_fused_tile<SharedDecoder, PlainAccess, 128, 4>;
  return variant;
}

}  // namespace nf4bench::kernels::cuda
