// Fused; the codebook in registers, one entry a lane, read by warp shuffle.

#include "dequantize/variants.hpp"
#include "fused_tile.cuh"
#include "shuffle_decoder.cuh"

namespace nf4bench::cuda {

Variant lut_register() {
  Variant variant;
  variant.name = "lut_register";
  variant.summary = "fused; codebook in registers, one entry a lane, read by warp shuffle";
  variant.traits.mirrors = "bitsandbytes pull request 1747";
  variant.unsupported = always_supported;
  variant.workspace_bytes = no_workspace;
  variant.launch = launch_fused_tile<ShuffleDecoder, PlainAccess, 128, 4>;
  return variant;
}

}  // namespace nf4bench::cuda
