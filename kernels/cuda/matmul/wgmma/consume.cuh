#pragma once

// What the consumer warpgroups of wgmma_decode do: of each part of a tile multiply its stages, then
// the epilogue, or a join with the blocks that have the other parts.

#include "cuda/codebook.cuh"
#include "cuda/dependent_launch.cuh"
#include "cuda/matmul/join/cluster_tile.cuh"
#include "cuda/matmul/join/shared_tile.cuh"
#include "cuda/matmul/wgmma/epilogue.cuh"
#include "cuda/matmul/wgmma/produce_scales.cuh"
#include "cuda/matmul/wgmma/produce_tokens.cuh"
#include "cuda/matmul/wgmma/warp_consumer.cuh"
#include "cuda/matmul/wgmma/wgmma_consumer.cuh"

#include <type_traits>

namespace nf4bench::kernels::cuda {

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

// Calls use(LaneOutputs), which store this lane's accumulators of a tile, the index-th of its
// block.
template <class Shape, OutputType kType, class Use>
__device__ __forceinline__ void with_outputs(const Job& job, TilePlace at, int index,
                                             const std::uint8_t* shared, const Use& use) {
  const int first = at.rows * Shape::kRows;
  const auto factor = [&](int row) {
    if constexpr (!kHasFactors<Shape, kType>) return 1.0f;
    const auto* inverses = reinterpret_cast<const float*>(shared + Shape::kInverses);
    return inverses[index % Shape::kFactorSlots * Shape::kRows + row];
  };
  const LaneRows<Shape::kTransposed> rows;
  const RowValues factors = {factor(rows.first()), factor(rows.second())};
  const int token = at.tokens * Shape::kTokens;
  if (has_output_pairs(job)) {
    use(LaneOutputs<kType, Shape::kTransposed, true>(job, factors, first, token));
  } else {
    use(LaneOutputs<kType, Shape::kTransposed, false>(job, factors, first, token));
  }
}

template <class Shape, bool kRegroups, OutputType kType>
__device__ __forceinline__ void consume(const Job& job, const StagePlan& plan,
                                        const SplitSums& split, const ClusterSums& cluster,
                                        const RegroupedTokens& regrouped, std::uint8_t* shared) {
  fill_pairs<kType, Shape::kGroups * 128>(shared + Shape::kTable);
  if (threadIdx.x < 2) reinterpret_cast<std::uint32_t*>(shared + Shape::kZero)[threadIdx.x] = 0;
  sync_at<kConsumersBarrier, Shape::kGroups * 128>();
  constexpr Regrouping kRegrouping = kRegroups ? Regrouping::kAfterPlain : Regrouping::kNone;
  using Consumer = std::conditional_t<Shape::kWarpProducts, WarpConsumer<Shape, kType>,
                                      WgmmaConsumer<Shape, kRegrouping, kType>>;
  Consumer consumer(shared);
  wait_for_previous_kernel();
  if constexpr (kRegroups) regroup_tokens<Shape>(job, plan, regrouped);
  const auto with_outputs_of = [&](int tile, int index, const auto& use) {
    with_outputs<Shape, kType>(job, TilePlace(plan, tile), index, shared, use);
  };
  const int rest = static_cast<int>(job.inputs / kQuarterInputs % 4);  // quarters of a last stage
  int index = 0;
  for (TileWalk walk(plan, blockIdx.x); walk.valid(); walk.advance(plan), ++index) {
    const bool is_whole = walk.is_whole(plan);
    unsigned long long seen = 0;
    if (!is_whole && !plan.is_cluster) seen = SharedTile<Shape>(plan, split, walk.tile).look();
    consumer.begin_tile();
    const bool has_rest = rest > 0 && walk.end == plan.stages;
    consumer.multiply(walk.end - walk.begin - (has_rest ? 1 : 0), has_rest ? rest : 0,
                      cluster.is_early);
    consumer.finish_tile();
    if (is_whole) {
      with_outputs_of(walk.tile, index, [&](const auto& outputs) {
#pragma unroll
        for (int i = 0; i < Shape::kPieces; ++i) {
          outputs.store(i, piece_of(consumer.accumulators, i));
        }
      });
    } else if (plan.is_cluster) {
      const ClusterTile<Shape> tile(plan, cluster, shared_address(shared));
      tile.send(consumer.accumulators);
      with_outputs_of(walk.tile, index,
                      [&](const auto& outputs) { tile.add_up(consumer.accumulators, outputs); });
      return;  // a block of a cluster has one part of one tile
    } else {
      SharedTile<Shape>(plan, split, walk.tile).leave(seen, [&](int i) {
        return piece_of(consumer.accumulators, i);
      });
    }
  }
  // Split tiles, when there is nothing else to do: their other parts are there by now, or soon.
  index = 0;
  for (TileWalk walk(plan, blockIdx.x); walk.valid(); walk.advance(plan), ++index) {
    if (walk.is_whole(plan)) continue;
    const SharedTile<Shape> tile(plan, split, walk.tile);
    with_outputs_of(walk.tile, index, [&](const auto& outputs) { tile.add_up(outputs); });
  }
}

#endif

}  // namespace nf4bench::kernels::cuda
