// Fused; explicit cache operators: weights are loaded past L1, weights and outputs carry an
// evict-first policy in L2, so that neither pushes out what other kernels keep there. Before
// Ampere, which has no such policies, both stream (ld.cs, st.cs).

#include "cuda/dequantize/fused_tile.cuh"
#include "cuda/dequantize/shuffle_decoder.cuh"
#include "cuda/dequantize/variants.hpp"

namespace nf4bench::kernels::cuda {
namespace {

struct EvictFirstAccess {
  template <class T>
  __device__ static __forceinline__ T load(const T* address) {
    return load_evict_first(address, evict_first_policy());
  }
  __device__ static __forceinline__ void store(uint4* address, uint4 value) {
    store_evict_first(address, value, evict_first_policy());
  }
};

}  // namespace

Variant cache_hints() {
  Variant variant;
  variant.name = "cache_hints";
  variant.summary = "fused; load and store cache operators, evict-first policy in L2";
  variant.traits.inline_ptx = true;
  variant.traits.cache_hints = true;
  variant.traits.mirrors = "cache-modifier solutions of the Unsloth challenge";
  variant.launch = launch_fused_tile<ShuffleDecoder, EvictFirstAccess, 128, 4>;
  return variant;
}

}  // namespace nf4bench::kernels::cuda
