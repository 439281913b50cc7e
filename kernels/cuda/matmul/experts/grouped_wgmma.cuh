#pragma once

// y[slot] = x[row of the slot] W[expert of the slot]^T on Hopper: wgmma_decode with a stack of
// weights, whose tiles are found on the device. The stack is one tall matrix to the producers of
// weights and scales; a tile's slots are those of one expert, and whole tiles are all that a block
// does, so that a row's sums do not depend on how many other rows there are.
//
// With few slots each block counts them by expert itself, with many a launch before has sorted
// them. The copy engine brings the rows of a tile: one by one from where they lie, or where
// warpgroups multiply, as that launch has gathered them.

#include "cuda/dependent_launch.cuh"
#include "cuda/matmul/experts/produce_rows.cuh"
#include "cuda/matmul/wgmma/consume.cuh"
#include "cuda/matmul/wgmma/produce_scales.cuh"
#include "cuda/matmul/wgmma/produce_weights.cuh"

namespace nf4bench::kernels::cuda {

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

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
    auto* output = static_cast<std::uint16_t*>(job.output) + std::int64_t{slot} * plan.columns;
    for (int n = threadIdx.x; n < plan.columns; n += Shape::kGroups * 128) output[n] = 0;
  }
}

// Stores the sums of a tile's slots, of which there are `count`, at most kMost.
template <class Shape, int kMost, class Outputs>
__device__ __forceinline__ void store_slots(const Outputs& outputs,
                                            const float (&sums)[Shape::kSums],
                                            const LaneRows<Shape::kTransposed>& rows,
                                            RowValues factors, std::uint32_t list, int count) {
  const auto store = [&](int place, std::uint32_t slot, std::uint32_t weight, float first,
                         float second) {
    first *= factors.first;
    second *= factors.second;
    const bool is_swapped = rows.swapped != 0;
    outputs.store(place < count, {static_cast<int>(slot), __uint_as_float(weight)},
                  is_swapped ? second : first, is_swapped ? first : second);
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

template <class Shape>
inline constexpr Regrouping kGroupedRegrouping =
    Shape::kTransposed ? Regrouping::kNone : Regrouping::kAll;

template <class Shape, OutputType kType, bool kIsRouted>
__device__ __forceinline__ void consume_tiles(const Job& job, const GroupedPlan& plan, float* sums,
                                              std::uint8_t* shared) {
  using At = GroupedShared<Shape, kIsRouted>;
  using Consumer = std::conditional_t<Shape::kWarpProducts, WarpConsumer<Shape, kType>,
                                      WgmmaConsumer<Shape, kGroupedRegrouping<Shape>, kType>>;
  if constexpr (!kIsRouted) clear_slots<Shape>(job, plan, shared);
  Consumer consumer(shared);
  const LaneRows<Shape::kTransposed> rows;
  const auto* inverses = reinterpret_cast<const float*>(shared + Shape::kInverses);
  const int rest = static_cast<int>(job.inputs / kQuarterInputs % 4);
  const int stages = plan.stages - (rest > 0 ? 1 : 0);
  RingPosition<Shape::kFactorSlots> factors_at;
  RingPosition<At::kLists> list_at;
  const int tiles = tables_of<Shape, kIsRouted>(shared).tiles[plan.experts] * plan.row_groups;
  for (int tile = static_cast<int>(blockIdx.x); tile < tiles; tile += static_cast<int>(gridDim.x)) {
    consumer.wait_for_tile();
    const std::uint32_t list =
        keep(shared_address(shared) + At::kSlotLists + list_at.slot * At::kListBytes);
    const uint4 header = load_shared_16(list);
    const int count = static_cast<int>(header.z);
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
      RowValues factors = {1.0f, 1.0f};
      if constexpr (kHasFactors<Shape, kType>) {
        factors = {inverses[factors_at.slot * Shape::kRows + rows.first()],
                   inverses[factors_at.slot * Shape::kRows + rows.second()]};
      }
      with_slot_store(plan, sums, [&](auto how) {
        const SlotOutputs<kType, decltype(how)::value> outputs(
            job, plan, sums, static_cast<int>(header.x), static_cast<int>(header.y) + rows.pair);
        store_slots<Shape, kMost>(outputs, consumer.accumulators, rows, factors,
                                  list + sizeof(TileHeader) + threadIdx.x % 4 * 16, count);
      });
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
    rings.tokens.init(1, Shape::kGroups * 4);
    publish_barriers();
  }
  allow_next_kernel();
  wait_for_previous_kernel();
  find_tiles<Shape, kIsRouted>(job, plan, routed, shared);
  const auto walk = [&] { return LaneWalk(plan, tables_of<Shape, kIsRouted>(shared)); };
  if (producer >= 0) {
    give_back_registers<Shape::kProducerRegisters>();
    if (producer >= kFirstScalesWarp) {
      produce_scales<Shape, kType>(job, walk(), scales, shared);
    } else if (producer == kWeightsWarp) {
      produce_weights<Shape>(weights, job, walk(), shared_address(shared), [&](const LaneWalk& at) {
        if constexpr (Shape::kTransposed) {
          prefetch_transposed_scales<Shape>(job, at);
        } else {
          prefetch_scales<Shape>(job, at);
        }
      });
    } else if constexpr (Shape::kWarpProducts) {
      copy_rows<Shape, kIsRouted>(job, plan, routed, shared);
    } else {
      copy_gathered_rows<Shape>(gathered, job, plan, routed, shared);
    }
  } else {
    take_registers<Shape::kConsumerRegisters>();
    consume_tiles<Shape, kType, kIsRouted>(job, plan, sums, shared);
  }
#endif
}

}  // namespace nf4bench::kernels::cuda
