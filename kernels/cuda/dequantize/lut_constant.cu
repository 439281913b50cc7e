// Fused; the codebook in constant memory. Lanes that ask for different entries are served one after
// another, up to 16 times: the common first try, kept to show what it costs.

#include "cuda/codebook.cuh"
#include "cuda/dequantize/fused_tile.cuh"
#include "cuda/dequantize/variants.hpp"

namespace nf4bench::kernels::cuda {
namespace {

struct ConstantDecoder {
  template <int kCount>
  __device__ void decode(std::uint32_t word, float (&values)[kCount]) const {
#pragma unroll
    for (int i = 0; i < kCount; ++i) values[i] = kCodebook[(word >> nibble_shift(i)) & 15];
  }
};

}  // namespace

Variant lut_constant() {
  Variant variant;
  variant.name = "lut_constant";
  variant.summary = "fused; codebook in constant memory";
  variant.traits.mirrors = "the common first try";
  variant.launch = launch_fused_tile<ConstantDecoder, PlainAccess, 128, 4>;
  return variant;
}

}  // namespace nf4bench::kernels::cuda
