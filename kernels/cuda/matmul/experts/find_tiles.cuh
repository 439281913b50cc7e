#pragma once

// How a block of grouped_wgmma finds its tiles: from tables that a launch before has left, or by
// sorting all slots itself.

#include "cuda/matmul/experts/grouped_outputs.cuh"
#include "cuda/matmul/wgmma/named_barriers.cuh"
#include "cuda/matmul/wgmma/wgmma_rings.cuh"

namespace nf4bench::kernels::cuda {

// Shared memory behind that of wgmma_decode.
template <class Shape, bool kIsRouted>
struct GroupedShared {
  // Tiles whose slots are listed: one whose outputs are stored, and one a slot of the ring.
  static constexpr int kLists = Shape::kTokenSlots * Shape::kSlotQuarters / 4 + 2;
  static constexpr int kListBytes =
      static_cast<int>(sizeof(TileHeader)) + Shape::kTokens * static_cast<int>(sizeof(ListedSlot));
  static constexpr int kRowTable = (Shape::kBytes + 15) / 16 * 16;
  static constexpr int kTileTable = kRowTable + (kMostExperts + 4) * 4;
  static constexpr int kSlotLists = kTileTable + (kMostExperts + 4) * 4;
  static constexpr int kExperts = kSlotLists + kLists * kListBytes;
  static constexpr int kOrder = kExperts + (kIsRouted ? 0 : kMostOwnSlots * 2);
  static constexpr int kSlotWeights = kOrder + (kIsRouted ? 0 : kMostOwnSlots * 2);
  static constexpr int kBytes = kSlotWeights + (kIsRouted ? 0 : kMostOwnSlots * 4);
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

template <class Shape, bool kIsRouted>
__device__ __forceinline__ ExpertTables tables_of(std::uint8_t* shared) {
  using At = GroupedShared<Shape, kIsRouted>;
  return {reinterpret_cast<int*>(shared + At::kRowTable),
          reinterpret_cast<int*>(shared + At::kTileTable)};
}

// Places the slots of experts behind each other, in their order. By one warp. Of tables.rows, where
// each expert begins, the upper half counts those that are placed.
__device__ __forceinline__ void order_slots(const ExpertTables& tables, const short* experts,
                                            short* order, const GroupedPlan& plan) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  for (int first = 0; first < plan.slots; first += 32) {
    const int slot = first + lane;
    const int expert = slot < plan.slots ? experts[slot] : -1;
    const unsigned same = __match_any_sync(0xffffffffu, expert);
    const int before = __popc(same & ((1u << lane) - 1));
    const int rows = expert >= 0 ? tables.rows[expert] : 0;
    if (expert >= 0) order[(rows & 0xffff) + (rows >> 16) + before] = static_cast<short>(slot);
    __syncwarp();
    if (expert >= 0 && before == 0) tables.rows[expert] = rows + (__popc(same) << 16);
    __syncwarp();
  }
}

// Fills the tables, and without a launch before the experts of all slots, their order and their
// weights. By all threads.
template <class Shape, bool kIsRouted>
__device__ __forceinline__ void find_tiles(const Job& job, const GroupedPlan& plan,
                                           const RoutedRows& routed, std::uint8_t* shared) {
  const ExpertTables tables = tables_of<Shape, kIsRouted>(shared);
  if constexpr (kIsRouted) {
    for (int i = threadIdx.x; i <= plan.experts; i += Shape::kThreads) {
      tables.rows[i] = routed.rows[i];
      tables.tiles[i] = routed.tiles[i];
    }
  } else {
    using At = GroupedShared<Shape, false>;
    auto* experts = reinterpret_cast<short*>(shared + At::kExperts);
    auto* weights = reinterpret_cast<float*>(shared + At::kSlotWeights);
    for (int i = threadIdx.x; i < plan.experts; i += Shape::kThreads) tables.rows[i] = 0;
    __syncthreads();
    for (int slot = threadIdx.x; slot < plan.slots; slot += Shape::kThreads) {
      weights[slot] = slot_weight(job, slot);
    }
    if (!job.group.ends) {
      for (int slot = threadIdx.x; slot < plan.slots; slot += Shape::kThreads) {
        const int expert = chosen_expert(job, slot);
        experts[slot] = static_cast<short>(expert);
        if (expert >= 0) atomicAdd(tables.rows + expert, 1);
      }
      __syncthreads();
    }
    if (threadIdx.x < 32) {
      if (job.group.ends) count_by_ends(job, tables, plan.slots);
      __syncwarp();
      begin_experts(tables, plan.experts, plan.tile_slots);
      __syncwarp();
      if (!job.group.ends) {
        order_slots(tables, experts, reinterpret_cast<short*>(shared + At::kOrder), plan);
      }
    }
    __syncthreads();
    for (int i = threadIdx.x; i < plan.experts; i += Shape::kThreads) tables.rows[i] &= 0xffff;
  }
  __syncthreads();
}

#endif

}  // namespace nf4bench::kernels::cuda
