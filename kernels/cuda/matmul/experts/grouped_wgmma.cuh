#pragma once

// y[slot] = x[row of the slot] W[expert of the slot]^T on Hopper: wgmma_decode with a stack of
// weights, whose tiles are found on the device. The stack is one tall matrix to the producers of
// weights and scales; a tile's slots are those of one expert, and whole tiles are all that a block
// does, so that a row's sums do not depend on how many other rows there are.
//
// With few slots each block counts them by expert itself, and its tokens' warp copies the rows of a
// tile from where they lie, by cp.async. With many a launch before has sorted and gathered them,
// and the copy engine brings them.

#include "cuda/dependent_launch.cuh"
#include "cuda/matmul/experts/grouped_outputs.cuh"
#include "cuda/matmul/wgmma/consume.cuh"
#include "cuda/matmul/wgmma/produce_scales.cuh"
#include "cuda/matmul/wgmma/produce_weights.cuh"

namespace nf4bench::kernels::cuda {

// Gathered rows as the copy engine brings them: all of a tile at once, or where it has fewer so
// many at a time, which takes longer for the same number.
struct GatheredRows {
  CUtensorMap tile;
  CUtensorMap part;
};
inline constexpr int kPartSlots = 32;

// Shared memory behind that of wgmma_decode.
template <class Shape, bool kIsRouted>
struct GroupedShared {
  // Tiles whose slots are listed: one whose outputs are stored, and one a slot of the ring.
  static constexpr int kLists = Shape::kTokenSlots * Shape::kSlotQuarters / 4 + 2;
  static constexpr int kListBytes = Shape::kTokens * static_cast<int>(sizeof(ListedSlot));
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

// Lists the slots of a tile. By a warp.
template <class Shape, bool kIsRouted>
__device__ __forceinline__ void list_slots(const Job& job, const RoutedRows& routed,
                                           const ExpertWalk& walk, const std::uint8_t* shared,
                                           ListedSlot* list) {
  const int first = walk.first_slot();
  for (int i = static_cast<int>(threadIdx.x % 32); i < walk.slots(); i += 32) {
    int slot = first + i;
    if constexpr (kIsRouted) {
      slot = __ldg(routed.order + slot);
    } else if (!job.group.ends) {
      slot = reinterpret_cast<const short*>(shared + GroupedShared<Shape, false>::kOrder)[slot];
    }
    list[i] = list_slot(job, slot);
  }
  __syncwarp();
}

// Copies the rows of tiles from where they lie. By a warp, each lane of which has 16 bytes of a
// row's 256 inputs; rows that a tile lacks are left as they are, for nobody stores their outputs.
template <class Shape>
__device__ __forceinline__ void copy_rows(const Job& job, const GroupedPlan& plan,
                                          const RoutedRows& routed, std::uint8_t* shared) {
  using At = GroupedShared<Shape, false>;
  static_assert(Shape::kSlotQuarters == 4 && Shape::kTokens <= 32);
  const WgmmaRings<Shape> rings(shared_address(shared));
  const int lane = static_cast<int>(threadIdx.x % 32);
  const auto* inputs = static_cast<const std::uint16_t*>(job.input) + lane * 8;
  const unsigned slots_a_row = job.group.slots_have_rows ? 1 : plan.top_k;
  RingPosition<Shape::kTokenSlots> at;
  RingPosition<At::kLists> list_at;
  unsigned row = 0;  // of x, of this lane's slot
  for (ExpertWalk walk(plan, tables_of<Shape, false>(shared)); walk.valid(); walk.advance()) {
    wait_for_phase(rings.tokens.empty(at.slot), at.parity ^ 1);
    const int count = walk.slots();
    if (walk.begins_tile()) {
      auto* list =
          reinterpret_cast<ListedSlot*>(shared + At::kSlotLists + list_at.slot * At::kListBytes);
      list_slots<Shape, false>(job, routed, walk, shared, list);
      row = lane < count ? static_cast<unsigned>(list[lane].slot) / slots_a_row : 0;
      list_at.advance();
    }
    const int first = walk.stage() * 256;
    const bool is_inside = first + lane * 8 < job.inputs;
    const std::uint32_t target = shared_address(shared) + Shape::kActivations +
                                 at.slot * Shape::kTokenSlotBytes + lane / 8 * Shape::kQuarterBytes;
#pragma unroll
    for (int i = 0; i < Shape::kTokens; ++i) {
      const unsigned from_row = __shfl_sync(0xffffffffu, row, i);
      if (i >= count) continue;
      const std::uint16_t* from =
          inputs + std::int64_t{from_row} * job.inputs + (is_inside ? first : -lane * 8);
      copy_async<16>(target + swizzled(i, lane % 8), from, is_inside);
    }
    arrive_with_copies(rings.tokens.full(at.slot));
    __syncwarp();
    if (lane == 0) arrive(rings.tokens.full(at.slot));
    at.advance();
  }
  commit_copies();
  wait_for_copies<0>();
}

// Where weights are scaled, few slots of a tile are multiplied by products for as many: calls
// use(integral_constant<int>: for how many).
template <class Shape, class Use>
__device__ __forceinline__ void with_slots(int count, const Use& use) {
  const auto fits = [&](auto most) {
    constexpr int kMost = decltype(most)::value;
    if constexpr (kMost >= Shape::kTokens || kMost < Shape::kTokens / 4 || Shape::kScaleSums) {
      return false;
    } else {
      if (count > kMost) return false;
      use(most);
      return true;
    }
  };
  if (fits(std::integral_constant<int, 32>{}) || fits(std::integral_constant<int, 64>{}) ||
      fits(std::integral_constant<int, 128>{})) {
    return;
  }
  use(std::integral_constant<int, Shape::kTokens>{});
}

// Has the copy engine bring gathered rows. By a warp.
template <class Shape>
__device__ __forceinline__ void copy_routed_rows(const GatheredRows& rows, const Job& job,
                                                 const GroupedPlan& plan, const RoutedRows& routed,
                                                 std::uint8_t* shared) {
  using At = GroupedShared<Shape, true>;
  const WgmmaRings<Shape> rings(shared_address(shared));
  const bool is_first = threadIdx.x % 32 == 0;
  RingPosition<Shape::kTokenSlots> at;
  RingPosition<At::kLists> list_at;
  fence_global_proxies();
  for (ExpertWalk walk(plan, tables_of<Shape, true>(shared)); walk.valid(); walk.advance()) {
    int slots = 0;
    with_slots<Shape>(walk.slots(), [&](auto count) { slots = decltype(count)::value; });
#pragma unroll 1
    for (int part = 0; part < 4 / Shape::kSlotQuarters; ++part) {
      wait_for_phase(rings.tokens.empty(at.slot), at.parity ^ 1);
      if (walk.begins_tile() && part == 0) {
        list_slots<Shape, true>(
            job, routed, walk, shared,
            reinterpret_cast<ListedSlot*>(shared + At::kSlotLists + list_at.slot * At::kListBytes));
        list_at.advance();
      }
      if (is_first) {
        const std::uint32_t barrier = rings.tokens.full(at.slot);
        arrive_expecting(barrier, slots * Shape::kSlotQuarters * 128);
        const std::uint32_t target =
            shared_address(shared) + Shape::kActivations + at.slot * Shape::kTokenSlotBytes;
        const int column = (walk.stage() * 4 + part * Shape::kSlotQuarters) * kQuarterInputs;
#pragma unroll
        for (int i = 0; i < Shape::kSlotQuarters; ++i) {
          const std::uint32_t to = target + i * Shape::kQuarterBytes;
          const int from = column + i * kQuarterInputs;
          if (slots == Shape::kTokens) {
            copy_box(to, {&rows.tile, from, walk.first_slot()}, barrier);
            continue;
          }
          for (int first = 0; first < slots; first += kPartSlots) {
            copy_box(to + first * kBoxBytes, {&rows.part, from, walk.first_slot() + first},
                     barrier);
          }
        }
      }
      at.advance();
    }
  }
}

// Zeros for this block's share of the slots that have no expert.
template <class Shape>
__device__ __forceinline__ void clear_slots(const Job& job, const GroupedPlan& plan,
                                            std::uint8_t* shared) {
  if (job.group.sums_slots) return;
  const auto* experts =
      reinterpret_cast<const short*>(shared + GroupedShared<Shape, false>::kExperts);
  const int with_expert = tables_of<Shape, false>(shared).rows[plan.experts];
  if (with_expert == plan.slots) return;
  for (int slot = static_cast<int>(blockIdx.x); slot < plan.slots; slot += gridDim.x) {
    if (job.group.ends ? slot < with_expert : experts[slot] >= 0) continue;
    auto* output = static_cast<std::uint16_t*>(job.output) + std::int64_t{slot} * plan.outputs;
    for (int n = threadIdx.x; n < plan.outputs; n += Shape::kGroups * 128) output[n] = 0;
  }
}

// Stores the sums of a tile's slots, of which there are `count`, at most kMost.
template <class Shape, int kMost, OutputType kType>
__device__ __forceinline__ void store_slots(const SlotOutputs<kType>& outputs,
                                            const float (&sums)[Shape::kSums], const LaneRows& rows,
                                            RowValues factors, std::uint32_t list, int count) {
  const auto store = [&](int place, std::uint32_t slot, std::uint32_t weight, float first,
                         float second) {
    if (place >= count) return;
    first *= factors.first;
    second *= factors.second;
    const bool is_swapped = rows.swapped != 0;
    outputs.store({static_cast<int>(slot), __uint_as_float(weight)}, is_swapped ? second : first,
                  is_swapped ? first : second);
  };
#pragma unroll
  for (int i = 0; i < kMost / 8; ++i) {
    const float4 piece = piece_of(sums, i);
    const int place = i * 8 + static_cast<int>(threadIdx.x % 4 * 2);
    const uint4 two = load_constant_16(list + i * 8 * static_cast<int>(sizeof(ListedSlot)));
    store(place, two.x, two.y, piece.x, piece.z);
    store(place + 1, two.z, two.w, piece.y, piece.w);
  }
}

template <class Shape, OutputType kType, bool kIsRouted>
__device__ __forceinline__ void consume_tiles(const Job& job, const GroupedPlan& plan, float* sums,
                                              std::uint8_t* shared) {
  using At = GroupedShared<Shape, kIsRouted>;
  using Consumer = std::conditional_t<Shape::kWarpProducts, WarpConsumer<Shape, kType>,
                                      WgmmaConsumer<Shape, Regrouping::kAll, kType>>;
  if constexpr (!kIsRouted) clear_slots<Shape>(job, plan, shared);
  Consumer consumer(shared);
  const LaneRows rows;
  const auto* inverses = reinterpret_cast<const float*>(shared + Shape::kInverses);
  const int rest = static_cast<int>(job.inputs / kQuarterInputs % 4);
  const int stages = plan.stages - (rest > 0 ? 1 : 0);
  RingPosition<Shape::kFactorSlots> factors_at;
  RingPosition<At::kLists> list_at;
  for (ExpertWalk walk(plan, tables_of<Shape, kIsRouted>(shared)); walk.valid();
       walk.advance_tile()) {
    const int count = walk.slots();
    // All of a tile apart for each number of slots: ptxas lets no products run beside each other
    // whose accumulators meet those of others.
    with_slots<Shape>(count, [&](auto most) {
      constexpr int kMost = decltype(most)::value;
      consumer.begin_tile();
      if constexpr (Shape::kScaleSums) {
        consumer.multiply(stages, rest, false);
        consumer.finish_tile();
      } else {
        consumer.template multiply_first<kMost>(stages, rest);
        consumer.template finish_first<kMost>();
      }
      const SlotOutputs<kType> outputs(job, plan, sums, walk.expert(),
                                       walk.row_of_matrix() + rows.pair);
      RowValues factors = {1.0f, 1.0f};
      if constexpr (kHasFactors<Shape, kType>) {
        factors = {inverses[factors_at.slot * Shape::kRows + rows.first()],
                   inverses[factors_at.slot * Shape::kRows + rows.second()]};
      }
      // Not before the stages have been waited for, with the first of which came the list.
      const std::uint32_t list = keep(shared_address(shared) + At::kSlotLists +
                                      list_at.slot * At::kListBytes + threadIdx.x % 4 * 16);
      store_slots<Shape, kMost>(outputs, consumer.accumulators, rows, factors, list, count);
    });
    factors_at.advance();
    list_at.advance();
  }
}

#endif

// `job` has the stack as one matrix, `plan` the sizes of one expert's. `sums`: see SlotOutputs.
template <class Shape, OutputType kType, bool kIsRouted>
__global__ void __maxnreg__(Shape::kRegisters)
    grouped_wgmma(const __grid_constant__ CUtensorMap weights,
                  const __grid_constant__ GatheredRows gathered, const __grid_constant__ Job job,
                  const __grid_constant__ GroupedPlan plan,
                  const __grid_constant__ RoutedRows routed, float* sums, StageScales scales) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ __align__(1024) std::uint8_t shared[];
  const int warp = __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x) / 32, 0);
  const int producer = warp - Shape::kGroups * 4;  // negative: a consumer
  if (producer < 0) {
    fill_pairs<kType, Shape::kGroups * 128>(shared + Shape::kTable);
    if (threadIdx.x < 2) reinterpret_cast<std::uint32_t*>(shared + Shape::kZero)[threadIdx.x] = 0;
  } else if (producer == kWeightsWarp && threadIdx.x % 32 == 0) {
    const WgmmaRings<Shape> rings(shared_address(shared));
    rings.weights.init(1 + kScaleWarps, Shape::kGroups * 4);
    rings.tokens.init(kIsRouted ? 1 : 32 + 1, Shape::kGroups * 4);
    publish_barriers();
  }
  allow_next_kernel();
  wait_for_previous_kernel();
  find_tiles<Shape, kIsRouted>(job, plan, routed, shared);
  const auto walk = [&] { return ExpertWalk(plan, tables_of<Shape, kIsRouted>(shared)); };
  if (producer >= 0) {
    give_back_registers<Shape::kProducerRegisters>();
    if (producer >= kFirstScalesWarp) {
      produce_scales<Shape, kType>(job, walk(), scales, shared);
    } else if (producer == kWeightsWarp) {
      if (threadIdx.x % 32 == 0) produce_weights<Shape>(weights, walk(), shared_address(shared));
    } else if constexpr (kIsRouted) {
      copy_routed_rows<Shape>(gathered, job, plan, routed, shared);
    } else {
      copy_rows<Shape>(job, plan, routed, shared);
    }
  } else {
    take_registers<Shape::kConsumerRegisters>();
    consume_tiles<Shape, kType, kIsRouted>(job, plan, sums, shared);
  }
#endif
}

}  // namespace nf4bench::kernels::cuda
