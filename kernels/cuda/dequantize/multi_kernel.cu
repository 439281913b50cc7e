// Three launches; each nibble is looked up in a table in global memory. What Unsloth's
// fast_dequantize does on bitsandbytes 0.48 and later: the default baseline.

#include "cuda/dequantize/chain.cuh"
#include "cuda/dequantize/variants.hpp"

namespace nf4bench::kernels::cuda {
namespace {

// Not constant and not __constant__: reads go through L1, as in bitsandbytes.
__device__ float codebook[kCodes] = {
    codebook_value(0),  codebook_value(1),  codebook_value(2),  codebook_value(3),
    codebook_value(4),  codebook_value(5),  codebook_value(6),  codebook_value(7),
    codebook_value(8),  codebook_value(9),  codebook_value(10), codebook_value(11),
    codebook_value(12), codebook_value(13), codebook_value(14), codebook_value(15)};

struct GlobalLookup {
  __device__ static __forceinline__ float value(unsigned nibble) { return codebook[nibble]; }
};

}  // namespace

Variant multi_kernel() {
  Variant variant;
  variant.name = "multi_kernel";
  variant.summary = "three launches; table in global memory";
  variant.traits.launches = 3;
  variant.traits.mirrors = "Unsloth fast_dequantize on bitsandbytes 0.48 and later";
  variant.workspace_bytes = chain_workspace;
  variant.launch = launch_chain<GlobalLookup>;
  return variant;
}

}  // namespace nf4bench::kernels::cuda
