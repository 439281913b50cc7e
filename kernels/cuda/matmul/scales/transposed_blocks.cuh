#pragma once

// Scales of weights that lie transposed, [inputs, outputs]: of each input one for 64 rows or more.

#include "cuda/arithmetic.cuh"

namespace nf4bench::kernels::cuda {

// Which blocks a stage of a tile has.
struct TransposedBlocks {
  unsigned input = 0;   // its first one, of those of all experts
  unsigned column = 0;  // the first 64 of a tile's rows
  int inputs = 0;       // of the expert, from there on; 0: there is no stage

  TransposedBlocks() = default;
  template <class Walk>
  __device__ __forceinline__ TransposedBlocks(const Job& job, const Walk& walk, int stage_inputs)
      : input(walk.expert() * static_cast<unsigned>(job.inputs) + walk.stage() * stage_inputs),
        column(walk.row_of_matrix() / 64),
        inputs(static_cast<int>(job.inputs) - walk.stage() * stage_inputs) {}

  // That of the i-th input and the k-th 64 rows. Beyond the last rows those stand in.
  __device__ __forceinline__ unsigned block(const Job& job, int i, int k) const {
    const auto columns = static_cast<unsigned>(job.outputs) / 64;
    const unsigned first = (input + i) * columns + min(column + k, columns - 1);
    return first >> (static_cast<int>(job.block_shift) - 6);
  }
};

// The power of two of a scale, between float16's least and greatest; divides the scale by it.
__device__ __forceinline__ float take_power(float& scale) {
  const unsigned exponent = min(max(__float_as_uint(scale) >> 23 & 0xffu, 127u - 24), 127u + 15);
  scale *= __uint_as_float((2 * 127 - exponent) << 23);
  return __uint_as_float(exponent << 23);
}

}  // namespace nf4bench::kernels::cuda
