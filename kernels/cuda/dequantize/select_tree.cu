// Fused; no table: each value is chosen by 15 arithmetic selects on the bits of its nibble.

#include "cuda/dequantize/fused_tile.cuh"
#include "cuda/dequantize/variants.hpp"

namespace nf4bench::kernels::cuda {
namespace {

// The codebook value of the nibble in the low bits of `code`, from entries kFirst and up.
template <int kFirst, int kBit>
__device__ __forceinline__ float select(std::uint32_t code) {
  if constexpr (kBit < 0) {
    return codebook_value(kFirst);
  } else {
    const float low = select<kFirst, kBit - 1>(code);
    const float high = select<kFirst + (1 << kBit), kBit - 1>(code);
    return (code & (1u << kBit)) != 0 ? high : low;
  }
}

struct SelectDecoder {
  template <int kCount>
  __device__ void decode(std::uint32_t word, float (&values)[kCount]) const {
#pragma unroll
    for (int i = 0; i < kCount; ++i) values[i] = select<0, 3>(word >> nibble_shift(i));
  }
};

}  // namespace

Variant select_tree() {
  Variant variant;
  variant.name = "select_tree";
  variant.summary = "fused; no table, a tree of arithmetic selects on the nibble's bits";
  variant.traits.mirrors = "Triton lookup_const solutions of the Unsloth challenge";
  variant.launch = launch_fused_tile<SelectDecoder, PlainAccess, 128, 4>;
  return variant;
}

}  // namespace nf4bench::kernels::cuda
