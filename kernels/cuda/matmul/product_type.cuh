#pragma once

// What tensor cores multiply activations of a type in, and what becomes of the sums.

#include "cuda/matmul/float16_tokens.hpp"

namespace nf4bench::kernels::cuda {

// For code of the device, where the architecture is known.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
template <OutputType kType>
inline constexpr OutputType kProductType = OutputType::kFloat16;
#else
template <OutputType kType>
inline constexpr OutputType kProductType = kType;
#endif

// A token's sum, of what it was multiplied as.
template <OutputType kType, bool kHasFactors = kProductType<kType> != kType>
__device__ __forceinline__ float sum_of(float sum, const TokenFactors& factors,
                                        std::int64_t token) {
  if constexpr (!kHasFactors) return sum;
  return sum * __ldg(factors.values + token);
}

}  // namespace nf4bench::kernels::cuda
