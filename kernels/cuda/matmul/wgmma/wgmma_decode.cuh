#pragma once

// y[M, N] = x[M, K] W[N, K]^T on Hopper, with weights decoded into registers as operand A: a block
// has tiles of 128 or 192 rows of W and 8 to 256 tokens, which it walks in stages of 256 inputs.
//
// In the order in which to read:
//   config.hpp            what it is compiled for, what a product gets, how its tiles are cut
//   wgmma_rings.cuh       shared memory, and the rings through which producers and consumers meet
//   this file             who does what
//   produce_weights.cuh, produce_tokens.cuh, produce_scales.cuh
//   consume.cuh           the parts of tiles, with warp_consumer.cuh up to 16 tokens,
//   wgmma_consumer.cuh
//                         for more; then epilogue.cuh, or a join (../join/)
//
// Shared memory, from its start:
//   pair table | ring of weights | ring of activations | scales, a slot of weights each | nested
//   map | factors of rows | barriers of the rings | exchange of warps
//
// Barriers: of each slot one in shared memory that says full, at which copies and the warps of
// scales arrive, and one that says empty, at which each consumer warp does; named_barriers.cuh has
// the rest.

#include "cuda/dependent_launch.cuh"
#include "cuda/matmul/wgmma/consume.cuh"
#include "cuda/matmul/wgmma/produce_scales.cuh"
#include "cuda/matmul/wgmma/produce_tokens.cuh"
#include "cuda/matmul/wgmma/produce_weights.cuh"

namespace nf4bench::kernels::cuda {

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
  const int producer = warp - Shape::kGroups * 4;  // negative: a consumer
  // Who copies weights need not wait for the others.
  if (producer == kWeightsWarp) {
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
    using Stages = PlannedStages<Shape::kRows, Shape::kTokens>;
    if (producer >= kFirstScalesWarp) {
      produce_scales<Shape, kType>(job, Stages(plan, blockIdx.x), scales, shared);
    } else if (producer == kWeightsWarp && (Shape::kTransposed || threadIdx.x % 32 == 0)) {
      produce_weights<Shape>(weights, job, Stages(plan, blockIdx.x), shared_address(shared),
                             [&](const Stages& at) {
                               if constexpr (Shape::kTransposed)
                                 prefetch_transposed_scales<Shape>(job, at);
                             });
    } else if (producer == kTokensWarp && (kRegroups || threadIdx.x % 32 == 0)) {
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
