#pragma once

// The codebook as integers of two signed bytes, both looked up: two planes of operands, and sums of
// their own for each. Operands are a third more than with a line, and errors a thirtieth.

#include "cuda/matmul/linear/packed_operands.cuh"

namespace nf4bench::kernels::cuda {

struct BytePlanes {
  // codebook = (kIntercept + what Sums::total() counts) / kSteps
  static constexpr double kIntercept = 0.0;
  static constexpr double kSteps = kPlaneSteps / 256.0;

  // What leaves enough registers for the sums of 8 tokens.
  static constexpr int kMostUnitBoxesOfEight = 2;

  struct Tables {
    ByteTable high;
    ByteTable low;
  };
  static constexpr Tables make_tables() {
    return {make_byte_table(high_byte_of), make_byte_table(low_byte_of)};
  }

  // Sums over a block, of a lane's two rows and two columns: the two planes of the activations, of
  // which the first counts 256 fold.
  struct Sums {
    int high[4] = {0, 0, 0, 0};
    int low[4] = {0, 0, 0, 0};

    // Of row 0 or 1. Each plane's sum is below 2^28; one integer would not hold both.
    __device__ __forceinline__ float total(int row) const {
      const int upper = high[2 * row] * 256 + high[2 * row + 1];
      const int lower = low[2 * row] * 256 + low[2 * row + 1];
      return __fmaf_rn(static_cast<float>(lower), 1.0f / 256, static_cast<float>(upper));
    }
  };

  // A block's activations in shared memory, of one plane, in the order of the nibbles: odd before
  // even.
  static constexpr int kBlockBytes = 64;

  // Writes the activations of a word.
  __device__ static __forceinline__ void write(std::uint8_t* block, int word, std::uint32_t even,
                                               std::uint32_t odd) {
    write_mixed(block, word, even, odd);
  }

#if __CUDA_ARCH__ >= 800

  // Operand A of two neighbouring words: 16 weights of each of the lane's rows.
  struct Weights {
    LookedUp high;
    LookedUp low;

    __device__ __forceinline__ Weights(const Tables& tables, const WordPair (&words)[2]) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const NibbleSelectors selectors(words[i]);
        const NibbleSelectors turned = turned_selectors(words[i]);
        high.look_up(tables.high, i, selectors, turned);
        low.look_up(tables.low, i, selectors, turned);
      }
    }
  };

  // Operand B that goes with it: the activations of the 16 weights, a byte each.
  struct Activations {
    uint2 mixed[2];
  };

  __device__ static __forceinline__ Activations split(uint4 mixed) {
    return {{{mixed.x, mixed.y}, {mixed.z, mixed.w}}};
  }

  // Of four words, which are half a block.
  __device__ static __forceinline__ void load(Activations (&result)[2], std::uint32_t block,
                                              int half) {
#pragma unroll
    for (int i = 0; i < 2; ++i) result[i] = split(load_shared_16(block + 32 * half + 16 * i));
  }

  __device__ static __forceinline__ void multiply(Sums& sums, const Weights& weights,
                                                  const Activations& activations) {
    multiply_looked_up(sums.high, weights.high, activations.mixed);
    multiply_looked_up(sums.low, weights.low, activations.mixed);
  }

#endif
};

}  // namespace nf4bench::kernels::cuda
