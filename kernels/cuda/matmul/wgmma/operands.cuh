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

// In their place where the weight lies transposed: words and scales are loaded where they are
// decoded, and a product that has begun has waited for its operands.
struct NoWords {
  uint2 scales = {};

  __device__ __forceinline__ void hold() {}
  __device__ __forceinline__ std::uint32_t mix() const { return 0; }
};

// Four words of a weight that lies transposed, of eight inputs each, as bytes that the table knows
// as pairs of inputs: of a lane's first row and of its second. A word has inputs 2t and 2t + 1 in
// its halves, and in each of them four rows, of which two are the lane's: `pick` takes that byte of
// the lower halves of two words, then of their upper ones.
struct PairBytes {
  std::uint32_t first;
  std::uint32_t second;

  __device__ __forceinline__ PairBytes(const std::uint32_t (&words)[4], std::uint32_t pick) {
    constexpr std::uint32_t kHigh = 0xf0f0f0f0u;
    const std::uint32_t ab = permute(words[0], words[1], pick);
    const std::uint32_t cd = permute(words[2], words[3], pick);
    const std::uint32_t even = permute(ab, cd, 0x5410);
    const std::uint32_t odd = permute(ab, cd, 0x7632);
    first = (even & kHigh) | (odd >> 4 & ~kHigh);
    second = (even << 4 & kHigh) | (odd & ~kHigh);
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
