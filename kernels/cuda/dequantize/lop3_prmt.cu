// Fused, inline PTX: lop3 spreads the nibbles of a word into prmt selectors, prmt picks the bytes
// of the results from a table of the block's 16 finished outputs, kept in registers as byte planes.

#include "cuda/dequantize/fused_planes.cuh"
#include "cuda/dequantize/variants.hpp"

namespace nf4bench::kernels::cuda {

Variant lop3_prmt() {
  Variant variant;
  variant.name = "lop3_prmt";
  variant.summary = "fused; prmt looks nibbles up in pre-scaled byte planes in registers";
  variant.traits.inline_ptx = true;
  variant.traits.cache_hints = true;
  variant.traits.mirrors = "this project";
  variant.launch = launch_fused_planes<128, 32>;
  return variant;
}

}  // namespace nf4bench::kernels::cuda
