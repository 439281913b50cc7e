// Three launches; each nibble is decoded by a tree of branches on its bits, whose leaves the lanes
// of a warp take in turn. bitsandbytes' kernel up to version 0.47 and the baseline of most
// published speedups.

#include "cuda/dequantize/chain.cuh"
#include "cuda/dequantize/variants.hpp"

namespace nf4bench::kernels::cuda {
namespace {

template <int kFirst, int kBit>
__device__ __forceinline__ float descend(unsigned nibble) {
  if constexpr (kBit < 0) {
    return codebook_value(kFirst);
  } else if ((nibble & (1u << kBit)) != 0) {
    return descend<kFirst + (1 << kBit), kBit - 1>(nibble);
  } else {
    return descend<kFirst, kBit - 1>(nibble);
  }
}

struct BranchLookup {
  __device__ static __forceinline__ float value(unsigned nibble) { return descend<0, 3>(nibble); }
};

}  // namespace

Variant branch_tree() {
  Variant variant;
  variant.name = "branch_tree";
  variant.summary = "three launches; decode by a tree of branches";
  variant.traits.launches = 3;
  variant.traits.mirrors = "bitsandbytes up to 0.47";
  variant.workspace_bytes = chain_workspace;
  variant.launch = launch_chain<BranchLookup>;
  return variant;
}

}  // namespace nf4bench::kernels::cuda
