#pragma once

// The operands of products of warpgroups, as shared memory has them: words that a lane decodes into
// its fragments of A, and the descriptor of B.

#include "cuda/ptx.cuh"

namespace nf4bench::kernels::cuda {

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

// Of 64 inputs what a lane's rows multiply, and their scales: as float32, or as a pair of 16-bit
// values. kRegrouped: eight bytes that are the lane's own, else eight words in which it has one
// each.
template <bool kRegrouped>
struct QuarterWords {
  static constexpr int kWords = kRegrouped ? 2 : 8;
  std::uint32_t rows[2][kWords];
  uint2 scales;

  // Nothing that uses them may move up across the wait before.
  __device__ __forceinline__ void hold() {
#pragma unroll
    for (int i = 0; i < kWords; ++i) cuda::hold(rows[0][i], rows[1][i]);
  }

  // Known only when all has been loaded.
  __device__ __forceinline__ std::uint32_t mix() const {
    std::uint32_t mixed = scales.x | scales.y;
#pragma unroll
    for (int i = 0; i < kWords; i += kRegrouped ? 2 : 4) mixed |= rows[0][i] | rows[1][i];
    return mixed;
  }
};

// B of a product: rows of 64 16-bit values, one a token, in 128 bytes that are swizzled as the copy
// engine does; 1024 bytes hold eight tokens.
class TokenDescriptor {
 public:
  // `address` is a multiple of 1024.
  __device__ __forceinline__ explicit TokenDescriptor(std::uint32_t address)
      : lower_(address >> 4 | 1u << 16) {}

  // So many times 16 bytes further. Shared memory ends before the sum would run into other bits.
  __device__ __forceinline__ TokenDescriptor at(std::uint32_t sixteens) const {
    TokenDescriptor further = *this;
    further.lower_ += sixteens;
    return further;
  }

  __device__ __forceinline__ std::uint64_t bits() const {
    return std::uint64_t{1024 >> 4 | 1u << 30} << 32 | lower_;
  }

 private:
  std::uint32_t lower_;
};

#endif

}  // namespace nf4bench::kernels::cuda
