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
  static constexpr int kBytes = kOrder + (kIsRouted ? 0 : kMostOwnSlots * 2);
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

template <class Shape, bool kIsRouted>
__device__ __forceinline__ ExpertTables tables_of(std::uint8_t* shared) {
  using At = GroupedShared<Shape, kIsRouted>;
  return {reinterpret_cast<int*>(shared + At::kRowTable),
          reinterpret_cast<int*>(shared + At::kTileTable)};
}

// Places the slots of experts behind each other. By one warp, in the order of the slots;
// tables.rows has where each expert begins, and for a while where its next slot goes.
__device__ __forceinline__ void order_slots(const ExpertTables& tables, const short* experts,
                                            short* order, const GroupedPlan& plan) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  for (int first = 0; first < plan.slots; first += 32) {
    const int slot = first + lane;
    const int expert = slot < plan.slots ? experts[slot] : -1;
    const unsigned same = __match_any_sync(0xffffffffu, expert);
    const int before = __popc(same & ((1u << lane) - 1));
    if (expert >= 0) order[tables.rows[expert] + before] = static_cast<short>(slot);
    __syncwarp();
    if (expert >= 0 && before == 0) tables.rows[expert] += __popc(same);
    __syncwarp();
  }
  // Each has moved on to where the next one begins.
  for (int first = (plan.experts - 1) / 32 * 32; first >= 0; first -= 32) {
    const int expert = first + lane;
    const int end = expert < plan.experts ? tables.rows[expert] : 0;
    __syncwarp();
    if (expert < plan.experts) tables.rows[expert + 1] = end;
    __syncwarp();
  }
  if (lane == 0) tables.rows[0] = 0;
}

// Fills the tables, and without a launch before the experts of all slots and their order. By all
// threads.
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
    for (int i = threadIdx.x; i < plan.experts; i += Shape::kThreads) tables.rows[i] = 0;
    __syncthreads();
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
  }
  __syncthreads();
}

#endif

}  // namespace nf4bench::kernels::cuda
