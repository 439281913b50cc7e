#pragma once

// The scales of a stage of mma_table's 128 inputs, for all warps of its block.

#include "cuda/arithmetic.cuh"
#include "cuda/matmul/table/table_stage.cuh"

namespace nf4bench::kernels::cuda {

// A thread's scale of each stage, of which a block has no more than threads: loaded in one step,
// and worked out in a later one.
template <class Traits>
class TableScales {
 public:
  __device__ __forceinline__ TableScales(const Job& job, const TableShape& shape, TileOrigin tile,
                                         int stage)
      : job_(job) {
    const int shift = kStageShift - shape.span_shift;  // log2 of a row's scales
    const std::int64_t row =
        min(std::int64_t{tile.row} + (static_cast<int>(threadIdx.x) >> shift), job.outputs - 1);
    const int column = stage * kStageInputs +
                       ((static_cast<int>(threadIdx.x) & ((1 << shift) - 1)) << shape.span_shift);
    wanted_ = static_cast<int>(threadIdx.x) < Traits::kRows << shift;
    element_ = row * job.inputs + column;
    left_ = wanted_ ? static_cast<int>(job.inputs) - column : 0;
  }

  __device__ __forceinline__ void load_next() {
    inside_ = left_ > 0;
    if (!inside_) return;
    const std::int64_t block = element_ >> job_.block_shift;
    element_ += kStageInputs;
    left_ -= kStageInputs;
#pragma unroll
    for (int i = 0; i < Traits::kScaleFloats; ++i) {
      // Beyond the last block there are no weights.
      load_one(Traits::kRagged ? min(block + i, job_.blocks - 1) : block, i);
    }
  }

  // Writes what was loaded last. `map` is the nested map, in shared memory.
  __device__ __forceinline__ void store(const float* map, float* target) const {
    if (!wanted_) return;
#pragma unroll
    for (int i = 0; i < Traits::kScaleFloats; ++i) {
      target[threadIdx.x * Traits::kScaleFloats + i] = inside_ ? scale(map, i) : 0.0f;
    }
  }

 private:
  static constexpr int kStageShift = 7;
  static_assert(kStageInputs == 1 << kStageShift);

  __device__ __forceinline__ void load_one(std::int64_t block, int i) {
    if (job_.nested) {
      codes_[i] = __ldg(job_.absmax_codes + block);
      values_[i] = __ldg(job_.nested_absmax + (block >> 8));
    } else {
      values_[i] = __ldg(job_.absmax + block);
    }
  }

  __device__ __forceinline__ float scale(const float* map, int i) const {
    if (!job_.nested) return values_[i];
    return NestedMap{map, nested_offset(job_)}.scale(codes_[i], values_[i]);
  }

  const Job& job_;
  std::int64_t element_;  // of the next stage, the first that has the scale
  int left_;              // inputs from there on
  bool wanted_;
  bool inside_ = false;
  std::uint32_t codes_[Traits::kScaleFloats];
  float values_[Traits::kScaleFloats];
};

}  // namespace nf4bench::kernels::cuda
