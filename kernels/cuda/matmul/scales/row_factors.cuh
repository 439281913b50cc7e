#pragma once

// Powers of two that bring the scales of a row into the range of float16.

#include "cuda/matmul/scales/stage_scales.cuh"

namespace nf4bench::kernels::cuda {

// The power of two for each row of a lane. The values of which the row's scales are made, of its
// first and last block, are asked for when its scales are; few rows have others between.
template <int kRows>
class RowFactors {
 public:
  __device__ __forceinline__ void load(const Job& job, LaneStage at) {
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      const Values values(job, existing_row(job, at, i));
      ends_[i][0] = values.magnitude(values.first);
      ends_[i][1] = values.magnitude(values.last);
    }
  }

  // Code that runs once waits for its instructions: it has to be short.
  __device__ __forceinline__ void work_out(const Job& job, const NestedMap& nested, LaneStage at) {
    unsigned bounds[kRows];
#pragma unroll
    for (int i = 0; i < kRows; ++i) bounds[i] = max(ends_[i][0], ends_[i][1]);
    if ((job.inputs - 1) >> Values::shift(job) > 0) {
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
        const Values values(job, existing_row(job, at, i));
#pragma unroll 1
        for (unsigned k = values.first + 1; k < values.last; ++k) {
          bounds[i] = max(bounds[i], values.magnitude(k));
        }
      }
    }
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      if (job.nested) {
        bounds[i] =
            __float_as_uint(__uint_as_float(bounds[i]) * nested.values[256] + fabsf(nested.offset));
      }
      // 1 where a scale may be no finite number, so that those that are stay in their range.
      exponents_[i] =
          bounds[i] < 0x7f800000u ? min(2 * 127 + 13 - (bounds[i] >> 23), 127u + 120) : 127u;
    }
  }

  __device__ __forceinline__ float factor(int row) const {
    unsigned exponent = exponents_[0];
    // Not as an index, for which they would have to lie in memory.
#pragma unroll
    for (int i = 1; i < kRows; ++i) {
      if (row == i) exponent = exponents_[i];
    }
    return __uint_as_float(exponent << 23);
  }

  __device__ __forceinline__ void store_inverses(float* first) const {
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      first[64 * i] = __uint_as_float((2 * 127 - exponents_[i]) << 23);
    }
  }

 private:
  // Of a row: its nested absmax, or its absmax.
  struct Values {
    const float* all;
    unsigned first;
    unsigned last;

    __device__ __forceinline__ Values(const Job& job, int row)
        : all(job.nested ? job.nested_absmax : job.absmax) {
      const std::int64_t begin = std::int64_t{row} * job.inputs;
      first = static_cast<unsigned>(begin >> shift(job));
      last = static_cast<unsigned>((begin + job.inputs - 1) >> shift(job));
    }

    __device__ __forceinline__ static int shift(const Job& job) {
      return static_cast<int>(job.block_shift) + (job.nested ? 8 : 0);
    }

    // Without its sign: bits, which are ordered as the values are, NaN being the greatest.
    __device__ __forceinline__ unsigned magnitude(unsigned i) const {
      return __float_as_uint(__ldg(all + i)) & 0x7fffffffu;
    }
  };

  unsigned ends_[kRows][2];
  unsigned exponents_[kRows];  // with 127 added
};

}  // namespace nf4bench::kernels::cuda
