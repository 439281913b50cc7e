#pragma once

// The producer of weights: the copy engine brings them packed, as they are in memory.

#include "cuda/matmul/schedule/stage_walk.cuh"
#include "cuda/matmul/wgmma/wgmma_rings.cuh"
#include "cuda/memory.cuh"

namespace nf4bench::kernels::cuda {

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

// One thread copies the weights of all stages of a walk; others of its warp may come along, and all
// call begin_stage(walk) when one begins.
template <class Shape, class Walk, class BeginStage>
__device__ __forceinline__ void produce_weights(const CUtensorMap& map, const Job& job, Walk walk,
                                                std::uint32_t shared,
                                                const BeginStage& begin_stage) {
  const WgmmaRings<Shape> rings(shared);
  const std::uint64_t policy = evict_first_policy();
  RingPosition<Shape::kWeightSlots> at;
  for (; walk.valid(); walk.advance()) {
    wait_for_phase(rings.weights.empty(at.slot), at.parity ^ 1);
    if (threadIdx.x % 32 == 0) {
      arrive_expecting(rings.weights.full(at.slot), Shape::kWeightSlotBytes);
      const std::uint32_t slot = shared + Shape::kWeights + at.slot * Shape::kWeightSlotBytes;
      if constexpr (Shape::kTransposed) {
        const int input = walk.expert() * static_cast<int>(job.inputs) + walk.stage() * 256;
        copy_box(slot, {&map, walk.row_of_matrix() / 2, input}, rings.weights.full(at.slot),
                 policy);
      } else {
        const std::uint32_t barrier = rings.weights.full(at.slot);
#pragma unroll
        for (int group = 0; group < Shape::kGroups; ++group) {
          const std::uint32_t to = slot + group * kGroupBoxBytes;
          const int column = walk.stage() * kBoxBytes;
          if (walk.alternates()) {
            const int pair = (walk.row_of_matrix() + group * kGroupRows) / 2;
            copy_box(to, {&map, column, pair}, walk.expert(), barrier, policy);
          } else {
            copy_box(to, {&map, column, walk.first_row() + group * kGroupRows}, barrier, policy);
          }
        }
      }
    }
    begin_stage(walk);
    at.advance();
  }
}

#endif

}  // namespace nf4bench::kernels::cuda
