#pragma once

// Weights decoded into registers as the A operand of Hopper's tensor cores. A block is a producer
// warpgroup, which keeps two rings of shared memory full, and a few consumer warpgroups of 64 rows
// each, whose products are those of single warps with few tokens, else those of warpgroups.

#include "cuda/codebook.cuh"
#include "cuda/dependent_launch.cuh"
#include "cuda/matmul/wgmma/produce_scales.cuh"
#include "cuda/matmul/wgmma/produce_tokens.cuh"
#include "cuda/matmul/wgmma/tile_sums.cuh"
#include "cuda/matmul/wgmma/warp_consumer.cuh"
#include "cuda/matmul/wgmma/wgmma_consumer.cuh"

#include <type_traits>

namespace nf4bench::kernels::cuda {

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

// Pairs of codebook values, the high nibble's in the low half, for all bytes; a copy for each lane,
// so that no two lanes meet in a bank. By the consumers, each of which writes four copies at once.
template <class Shape, OutputType kType>
__device__ __forceinline__ void fill_pairs(std::uint8_t* shared) {
  const float own = kCodebook[threadIdx.x % 16] * kPairFactor<kType>;
  auto* table = reinterpret_cast<uint4*>(shared + Shape::kTable);
  for (int i = threadIdx.x; i < 256 * 8; i += Shape::kGroups * 128) {
    const float high = __shfl_sync(0xffffffffu, own, i >> 7);
    const float low = __shfl_sync(0xffffffffu, own, i >> 3 & 15);
    const std::uint32_t pair = pack_pair<kType>(high, low);
    table[i] = make_uint4(pair, pair, pair, pair);
  }
}

template <class Shape, bool kRegroups, OutputType kType>
__device__ __forceinline__ void consume(const Job& job, const StagePlan& plan,
                                        const SplitSums& split, const ClusterSums& cluster,
                                        const RegroupedTokens& regrouped, std::uint8_t* shared) {
  fill_pairs<Shape, kType>(shared);
  if (threadIdx.x < 2) reinterpret_cast<std::uint32_t*>(shared + Shape::kZero)[threadIdx.x] = 0;
  sync_at<kConsumersBarrier, Shape::kGroups * 128>();
  using Consumer = std::conditional_t<Shape::kWarpProducts, WarpConsumer<Shape, kType>,
                                      WgmmaConsumer<Shape, kRegroups, kType>>;
  Consumer consumer(shared);
  wait_for_previous_kernel();
  if constexpr (kRegroups) regroup_tokens<Shape>(job, plan, regrouped);
  // Calls use(where the sums of a tile go), of the block's tiles the index-th.
  const auto with_outputs = [&](int tile, int index, const auto& use) {
    const TilePlace at(plan, tile);
    const int first = at.rows * Shape::kRows;
    const auto factor = [&](int row) {
      if constexpr (!kHasFactors<Shape, kType>) return 1.0f;
      const auto* inverses = reinterpret_cast<const float*>(shared + Shape::kInverses);
      return inverses[index % Shape::kFactorSlots * Shape::kRows + row];
    };
    const LaneRows rows;
    const RowValues factors = {factor(rows.first()), factor(rows.second())};
    const int token = at.tokens * Shape::kTokens;
    if (job.outputs % 2 == 0) {
      use(LaneOutputs<kType, true>(job, factors, first, token));
    } else {
      use(LaneOutputs<kType, false>(job, factors, first, token));
    }
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
      with_outputs(walk.tile, index, [&](const auto& outputs) {
#pragma unroll
        for (int i = 0; i < Shape::kPieces; ++i) outputs.store(i, piece_of(consumer.sums_, i));
      });
    } else if (plan.is_cluster) {
      const ClusterTile<Shape> tile(plan, cluster, shared_address(shared));
      tile.send(consumer.sums_);
      with_outputs(walk.tile, index,
                   [&](const auto& outputs) { tile.add_up(consumer.sums_, outputs); });
      return;
    } else {
      SharedTile<Shape>(plan, split, walk.tile).leave(consumer.sums_, seen);
    }
  }
  index = 0;
  for (TileWalk walk(plan, blockIdx.x); walk.valid(); walk.advance(plan), ++index) {
    if (walk.is_whole(plan)) continue;
    const SharedTile<Shape> tile(plan, split, walk.tile);
    with_outputs(walk.tile, index, [&](const auto& outputs) { tile.add_up(outputs); });
  }
}

#endif

// kRegroups: most activations are regrouped, in `regrouped`.
template <class Shape, bool kRegroups, OutputType kType>
__global__ void __maxnreg__(Shape::kRegisters)
    wgmma_decode(const __grid_constant__ CUtensorMap weights,
                 const __grid_constant__ CUtensorMap tokens, const __grid_constant__ Job job,
                 const __grid_constant__ StagePlan plan, const __grid_constant__ SplitSums split,
                 const __grid_constant__ ClusterSums cluster,
                 const __grid_constant__ RegroupedTokens regrouped, StageScales scales) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ __align__(1024) std::uint8_t shared[];
  const int warp = __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x) / 32, 0);
  const int producer = warp - Shape::kGroups * 4;
  // Who copies weights need not wait for the others.
  if (producer == 0) {
    if (threadIdx.x % 32 == 0) {
      const WgmmaRings<Shape> rings(shared_address(shared));
      rings.weights.init(1 + kScaleWarps, Shape::kGroups * 4);
      rings.tokens.init(1, Shape::kGroups * 4);
      init_barrier(shared_address(shared) + Shape::kJoin, 1);
      publish_barriers();
    }
    __syncwarp();
    arrive_at<kSetUpBarrier, Shape::kThreads>();
  } else {
    sync_at<kSetUpBarrier, Shape::kThreads>();
  }
  allow_next_kernel();
  if (producer >= 0) {
    give_back_registers<Shape::kProducerRegisters>();
    if (producer >= 2) {
      produce_scales<Shape, kType>(job, plan, scales, shared);
    } else if (threadIdx.x % 32 == 0 && producer == 0) {
      produce_weights<Shape>(weights, plan, shared_address(shared));
    } else if (producer == 1 && (kRegroups || threadIdx.x % 32 == 0)) {
      wait_for_previous_kernel();
      produce_tokens<Shape, kRegroups>(tokens, job, regrouped, plan, shared_address(shared));
    }
  } else {
    take_registers<Shape::kConsumerRegisters>();
    consume<Shape, kRegroups, kType>(job, plan, split, cluster, regrouped, shared);
  }
#endif
}

}  // namespace nf4bench::kernels::cuda
