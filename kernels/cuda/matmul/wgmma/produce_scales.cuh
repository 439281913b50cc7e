#pragma once

// The scales of the weights that the warpgroup kernel multiplies. Two warps of its producer
// warpgroup work them out and put them into the slots of the weights' ring, so that those who
// multiply just read them.

#include "cuda/matmul/pair_table.cuh"
#include "cuda/matmul/scales/row_factors.cuh"
#include "cuda/matmul/scales/stage_scales.cuh"
#include "cuda/matmul/wgmma/named_barriers.cuh"
#include "cuda/matmul/wgmma/transposed_scales.cuh"
#include "cuda/matmul/wgmma/wgmma_rings.cuh"

namespace nf4bench::kernels::cuda {

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

// Brings the nested map into shared memory, and after it the greatest magnitude in it. By
// kScaleThreads threads.
template <class Shape>
__device__ __forceinline__ void load_map(const Job& job, std::uint8_t* shared) {
  if (!job.nested) return;
  auto* map = reinterpret_cast<float*>(shared + Shape::kMap);
  std::uint32_t greatest = 0;
#pragma unroll
  for (int i = 0; i < 256; i += 32) {
    const int at = i + static_cast<int>(threadIdx.x % 32);
    const float value = __ldg(job.nested_map + at);
    if (threadIdx.x % kScaleThreads < 32) map[at] = value;
    greatest = max(greatest, __float_as_uint(value) & 0x7fffffffu);
  }
  greatest = __reduce_max_sync(0xffffffffu, greatest);
  if (threadIdx.x % kScaleThreads == 0) map[256] = __uint_as_float(greatest);
  sync_at<kScalesBarrier, kScaleThreads>();
}

// Scales that are multiplied with weights in float16 first get a power of two that brings those of
// their row, which may be out of its range, to at most 2^14. Inverted it is a factor of the sums.
template <class Shape, OutputType kType>
inline constexpr bool kHasFactors =
    !Shape::kScaleSums && !Shape::kTransposed && kType == OutputType::kFloat16;

// One of kScaleThreads threads; the i-th does the i-th row of each warpgroup.
template <class Shape, OutputType kType, StageScales kKind, class Walk>
class ScaleProducer {
 public:
  __device__ __forceinline__ ScaleProducer(const Job& job, const Walk& walk, std::uint8_t* shared)
      : job_(job),
        rings_(shared_address(shared)),
        lane_(static_cast<int>(threadIdx.x) % kScaleThreads),
        nested_{reinterpret_cast<const float*>(shared + Shape::kMap), 0.0f},
        inverses_(reinterpret_cast<float*>(shared + Shape::kInverses) + lane_),
        slots_(shared + Shape::kScales + lane_ * Shape::kRowScaleBytes),
        walk_(walk) {
    // At once, where there are registers for both.
    constexpr bool kMapFirst = kKind == StageScales::kCodesOfTwoWords;
    if constexpr (kMapFirst) load_map<Shape>(job, shared);
    ask();
    if constexpr (!kMapFirst) load_map<Shape>(job, shared);
    if (job.nested) nested_.offset = nested_offset(job);
  }

  __device__ __forceinline__ void produce() {
    while (is_valid_) {
      work_out();
      __syncwarp();
      if (threadIdx.x % 32 == 0) arrive(rings_.weights.full(slot_.slot));
      ask();
      slot_.advance();
    }
  }

 private:
  static constexpr int kRows = Shape::kGroups;  // of a lane

  // Asks for the scales of the next stage.
  __device__ __forceinline__ void ask() {
    is_valid_ = walk_.valid();
    if (!is_valid_) return;
    stage_ = {walk_.row_at(lane_), walk_.step_of(kGroupRows), walk_.stage(), walk_.begins_tile()};
    loaded_.load(job_, stage_);
    if constexpr (kHasFactors<Shape, kType>) {
      if (stage_.begins_tile) row_factors_.load(job_, stage_);
    }
    walk_.advance();
  }

  __device__ __forceinline__ void work_out() {
    constexpr float kInverse = 1.0f / kPairFactor<kType>;
    wait_for_phase(rings_.weights.empty(slot_.slot), slot_.parity ^ 1);
    if constexpr (kHasFactors<Shape, kType>) {
      if (stage_.begins_tile) row_factors_.work_out(job_, nested_, stage_);
    }
    std::uint8_t* target = slots_ + slot_.slot * Shape::kScaleSlotBytes;
    loaded_.for_each(job_, nested_, stage_, [&](int row, float4 scales) {
      float factor = kInverse;
      if constexpr (kHasFactors<Shape, kType>) factor *= row_factors_.factor(row);
      const float4 scaled =
          make_float4(scales.x * factor, scales.y * factor, scales.z * factor, scales.w * factor);
      std::uint8_t* at = target + 64 * row * Shape::kRowScaleBytes;
      if constexpr (Shape::kScaleSums) {
        *reinterpret_cast<float4*>(at) = scaled;
      } else {
        *reinterpret_cast<uint2*>(at) =
            make_uint2(pack_pair<kType>(scaled.x, scaled.y), pack_pair<kType>(scaled.z, scaled.w));
      }
    });
    // Stored sooner, they would keep the map from being read before they are known.
    if constexpr (kHasFactors<Shape, kType>) {
      if (stage_.begins_tile) {
        row_factors_.store_inverses(inverses_ + Shape::kRows * tile_.slot);
        tile_.advance();
      }
    }
  }

  const Job& job_;
  WgmmaRings<Shape> rings_;
  int lane_;
  NestedMap nested_;
  float* inverses_;  // of the first tile
  std::uint8_t* slots_;
  Walk walk_;
  RingPosition<Shape::kWeightSlots> slot_;
  RingPosition<Shape::kFactorSlots> tile_;
  bool is_valid_ = false;
  LaneStage stage_;
  LoadedScales<kKind, kRows> loaded_;
  RowFactors<kRows> row_factors_;
};

template <class Shape, OutputType kType, StageScales kKind, class Walk>
__device__ __forceinline__ void produce_scales_of(const Job& job, const Walk& walk,
                                                  std::uint8_t* shared) {
  ScaleProducer<Shape, kType, kKind, Walk>(job, walk, shared).produce();
}

template <class Shape, OutputType kType, class Walk>
__device__ __forceinline__ void produce_scales(const Job& job, const Walk& walk, StageScales kind,
                                               std::uint8_t* shared) {
  if constexpr (Shape::kTransposed) {
    load_map<Shape>(job, shared);
    TransposedScaleProducer<Shape, kType, Walk>(job, walk, shared).produce();
    return;
  }
  switch (kind) {
    case StageScales::kCodes:
      return produce_scales_of<Shape, kType, StageScales::kCodes>(job, walk, shared);
    case StageScales::kCodesOfTwoWords:
      return produce_scales_of<Shape, kType, StageScales::kCodesOfTwoWords>(job, walk, shared);
    case StageScales::kValues:
      return produce_scales_of<Shape, kType, StageScales::kValues>(job, walk, shared);
    case StageScales::kAny:
      return produce_scales_of<Shape, kType, StageScales::kAny>(job, walk, shared);
  }
}

#endif

}  // namespace nf4bench::kernels::cuda
