#pragma once

// The codebook as a line and what is left of it, both integers, so that the integer tensor cores
// can multiply packed weights almost as they are: the codes are operands after one `and` each, and
// the residuals, one signed byte a code, are looked up.

#include "cuda/matmul/linear/linear_plan.hpp"
#include "cuda/matmul/linear/packed_operands.cuh"

namespace nf4bench::kernels::cuda {

struct LineAndResidual {
  // codebook = (kIntercept + what Sums::total() counts) / kSteps
  static constexpr double kIntercept = kLineIntercept;
  static constexpr double kSteps = kLineSteps;

  struct Tables {
    ByteTable residuals;
  };
  static constexpr Tables make_tables() { return {make_byte_table(residual_of)}; }

  // Sums over a block, of a lane's two rows and two columns: the two planes of the activations, of
  // which the first counts 256 fold. Even: high nibbles, which count 16 fold.
  struct Sums {
    int residual[4] = {0, 0, 0, 0};
    int even[4] = {0, 0, 0, 0};
    int odd[4] = {0, 0, 0, 0};

    // Of row 0 or 1.
    __device__ __forceinline__ float total(int row) const {
      const int line =
          (odd[2 * row] * 256 + odd[2 * row + 1]) * 16 + even[2 * row] * 256 + even[2 * row + 1];
      const int rest = residual[2 * row] * 256 + residual[2 * row + 1];
      constexpr auto kLine = static_cast<float>(kLineSlope / 16);
      return __fmaf_rn(static_cast<float>(line), kLine, static_cast<float>(rest));
    }
  };

  // A block's activations in shared memory, of one plane: 64 bytes in the order of the nibbles (odd
  // before even), then the even ones, then the odd ones.
  static constexpr int kBlockBytes = kLineBlockBytes;

  // Writes the activations of a word.
  __device__ static __forceinline__ void write(std::uint8_t* block, int word, std::uint32_t even,
                                               std::uint32_t odd) {
    write_mixed(block, word, even, odd);
    reinterpret_cast<std::uint32_t*>(block + 64)[word] = even;
    reinterpret_cast<std::uint32_t*>(block + 96)[word] = odd;
  }

#if __CUDA_ARCH__ >= 800

  // Operand A of two neighbouring words: 16 weights of each of the lane's rows.
  struct Weights {
    LookedUp residuals;
    std::uint32_t even[4];  // high nibbles, 16 fold, of both words
    std::uint32_t odd[4];   // low nibbles

    __device__ __forceinline__ Weights(const Tables& tables, const WordPair (&words)[2]) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        residuals.look_up(tables.residuals, i, NibbleSelectors(words[i]),
                          turned_selectors(words[i]));
        even[2 * i] = words[i].first & 0xf0f0f0f0u;
        even[2 * i + 1] = words[i].second & 0xf0f0f0f0u;
        odd[2 * i] = words[i].first & 0x0f0f0f0fu;
        odd[2 * i + 1] = words[i].second & 0x0f0f0f0fu;
      }
    }
  };

  // Operand B that goes with it: the activations of the 16 weights, a byte each.
  struct Activations {
    uint2 mixed[2];
    uint2 even;  // of the high nibbles, four of each word
    uint2 odd;   // of the low nibbles
  };

  __device__ static __forceinline__ Activations split(uint4 mixed) {
    return {{{mixed.x, mixed.y}, {mixed.z, mixed.w}},
            {permute(mixed.x, mixed.y, 0x7531), permute(mixed.z, mixed.w, 0x7531)},
            {permute(mixed.x, mixed.y, 0x6420), permute(mixed.z, mixed.w, 0x6420)}};
  }

  // Of four words, which are half a block.
  __device__ static __forceinline__ void load(Activations (&result)[2], std::uint32_t block,
                                              int half) {
    const uint4 mixed[2] = {load_shared_16(block + 32 * half),
                            load_shared_16(block + 32 * half + 16)};
    const uint4 even = load_shared_16(block + 64 + 16 * half);
    const uint4 odd = load_shared_16(block + 96 + 16 * half);
    result[0] = {
        {{mixed[0].x, mixed[0].y}, {mixed[0].z, mixed[0].w}}, {even.x, even.y}, {odd.x, odd.y}};
    result[1] = {
        {{mixed[1].x, mixed[1].y}, {mixed[1].z, mixed[1].w}}, {even.z, even.w}, {odd.z, odd.w}};
  }

  __device__ static __forceinline__ void multiply(Sums& sums, const Weights& weights,
                                                  const Activations& activations) {
    multiply_looked_up(sums.residual, weights.residuals, activations.mixed);
    mma_m16n8k32_unsigned(sums.even, weights.even, activations.even.x, activations.even.y);
    mma_m16n8k32_unsigned(sums.odd, weights.odd, activations.odd.x, activations.odd.y);
  }

#endif
};

}  // namespace nf4bench::kernels::cuda
