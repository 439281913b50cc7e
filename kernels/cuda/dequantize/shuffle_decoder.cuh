#pragma once

// The codebook across a warp's registers: lane i holds entry i mod 16, a shuffle reads it.

#include "cuda/dequantize/ragged.cuh"

namespace nf4bench::kernels::cuda {

struct ShuffleDecoder {
  float entry;

  __device__ ShuffleDecoder() : entry(kCodebook[threadIdx.x & 15]) {}

  // A shuffle of width 16 looks at the low four bits of the lane it is asked for, so that the
  // nibble needs no mask.
  template <int kCount>
  __device__ void decode(std::uint32_t word, float (&values)[kCount]) const {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      values[i] = __shfl_sync(0xffffffffu, entry, static_cast<int>(word >> nibble_shift(i)), 16);
    }
  }
};

}  // namespace nf4bench::kernels::cuda
