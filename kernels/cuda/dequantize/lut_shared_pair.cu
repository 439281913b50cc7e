// Fused; 256 pairs of floats in shared memory, so that one 8-byte read decodes a whole byte. Half
// the reads of lut_shared, paid with bank conflicts between lanes whose bytes differ.

#include "cuda/codebook.cuh"
#include "cuda/dequantize/fused_tile.cuh"
#include "cuda/dequantize/variants.hpp"

namespace nf4bench::kernels::cuda {
namespace {

struct PairDecoder {
  const float2* table;

  __device__ PairDecoder() {
    __shared__ float2 pairs[kCodes * kCodes];
    for (int byte = threadIdx.x; byte < kCodes * kCodes; byte += blockDim.x) {
      pairs[byte] = make_float2(kCodebook[byte >> 4], kCodebook[byte & 15]);
    }
    __syncthreads();
    table = pairs;
  }

  template <int kCount>
  __device__ void decode(std::uint32_t word, float (&values)[kCount]) const {
#pragma unroll
    for (int i = 0; i < kCount; i += 2) {
      const float2 pair = table[(word >> (4 * i)) & 255];
      values[i] = pair.x;
      values[i + 1] = pair.y;
    }
  }
};

}  // namespace

Variant lut_shared_pair() {
  Variant variant;
  variant.name = "lut_shared_pair";
  variant.summary = "fused; one byte looks up two values in a 256-entry shared table";
  variant.traits.mirrors = "FLUTE (arXiv 2407.10960)";
  variant.launch = launch_fused_tile<PairDecoder, PlainAccess, 128, 4>;
  return variant;
}

}  // namespace nf4bench::kernels::cuda
