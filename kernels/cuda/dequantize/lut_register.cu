// Fused; the codebook in registers, one entry a lane, read by warp shuffle.

#include "cuda/dequantize/fused_tile.cuh"
#include "cuda/dequantize/shuffle_decoder.cuh"
#include "cuda/dequantize/variants.hpp"

namespace nf4bench::kernels::cuda {

Variant lut_register() {
  Variant variant;
  variant.name = "lut_register";
  variant.summary = "fused; codebook in registers, one entry a lane, read by warp shuffle";
  variant.traits.mirrors = "bitsandbytes pull request 1747";
  variant.launch = launch_fused_tile<ShuffleDecoder, PlainAccess, 128, 4>;
  return variant;
}

}  // namespace nf4bench::kernels::cuda
