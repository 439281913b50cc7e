#pragma once

// y[M, N] = x[M, K] W[N, K]^T on tensor cores of Ampere and later, with weights as they lie in
// memory. One launch: blocks walk the stages that StagePlan gives them, and those that share a tile
// add up their parts in the workspace.
//
// Producers (warps of their own, or the consumers between their products) fill a ring of slots;
// consumers decode weights into A fragments through a table of pairs, multiply, and scale.
// ring_shape.hpp draws the shared memory, ring_consumer.cuh the fragments.

#include "cuda/dependent_launch.cuh"
#include "cuda/matmul/ring/ring_consumer.cuh"

namespace nf4bench::kernels::cuda {

// What tensor cores multiply in.
template <OutputType kType, ScaleTarget kTarget>
inline constexpr OutputType kRingType =
    kTarget == ScaleTarget::kFloat16Accumulators ? OutputType::kFloat16 : kProductType<kType>;

// Multiplies the block's parts of tiles; produce() fills the slot that was read last.
template <class Shape, OutputType kType, ScaleTarget kTarget, class Produce>
__device__ __forceinline__ void consume(const Job& job, const StagePlan& plan,
                                        const SplitSums& split, const TokenFactors& factors,
                                        const RingGroup<Shape>& group, std::uint8_t* shared,
                                        const Produce& produce) {
  using Tile = SharedTile<Shape>;
  constexpr bool kHasFactors =
      kTarget == ScaleTarget::kFloat16Accumulators || kProductType<kType> != kType;
  using Outputs = RingOutputs<Shape, kType, kHasFactors>;
  RingConsumer<Shape, kRingType<kType, kTarget>, kTarget> consumer(group, shared_address(shared));
  for (TileWalk walk(plan, blockIdx.x); walk.valid(); walk.advance(plan)) {
    const bool is_whole = walk.is_whole(plan);
    const unsigned long long seen = is_whole ? 0 : Tile(plan, split, walk.tile).look();
    consumer.clear();
#pragma unroll 1
    for (int stage = walk.begin; stage < walk.end; ++stage) consumer.multiply_stage(produce);
    consumer.finish_tile();
    if (is_whole) {
      const Outputs outputs(job, plan, factors, walk.tile, group);
#pragma unroll
      for (int i = 0; i < Shape::kPieces; ++i) outputs.store(i, consumer.piece(i));
    } else {
      Tile(plan, split, walk.tile).leave(seen, [&](int i) { return consumer.piece(i); });
    }
  }
  for (TileWalk walk(plan, blockIdx.x); walk.valid(); walk.advance(plan)) {
    if (walk.is_whole(plan)) continue;
    Tile(plan, split, walk.tile).add_up(Outputs(job, plan, factors, walk.tile, group));
  }
}

// Turing has shapes of its own.
template <class Shape>
__host__ __device__ constexpr bool is_compiled(int architecture) {
  return Shape::kIsTurings == (architecture < 800);
}

template <class Shape, OutputType kType, ScaleTarget kTarget>
__device__ __forceinline__ void multiply_ring(const Job& job, const StagePlan& plan,
                                              const SplitSums& split, ScaleLayout layout,
                                              const TokenFactors& factors) {
  extern __shared__ __align__(1024) std::uint8_t shared[];
  if (threadIdx.x == 0) RingSync<Shape>(shared_address(shared)).init();
  if (job.nested && threadIdx.x < 256) {
    reinterpret_cast<float*>(shared + Shape::kMap)[threadIdx.x] =
        __ldg(job.nested_map + threadIdx.x);
  }
  __syncthreads();
  allow_next_kernel();
  wait_for_previous_kernel();

  using Stages = PlannedStages<Shape::kRows, Shape::kTokens>;
  using Producer = RingProducer<Shape, kRingType<kType, kTarget>, kTarget, Stages>;
  const Stages stages(plan, blockIdx.x);
  const RingGroup<Shape> group;
  if constexpr (Shape::kProducerWarps > 0) {
    if (threadIdx.x >= Shape::kConsumers) {
      Producer producer(job, stages, layout, shared,
                        static_cast<int>(threadIdx.x) - Shape::kConsumers);
      while (producer.valid()) producer.produce();
      producer.finish();
      return;
    }
    fill_pairs<kRingType<kType, kTarget>, Shape::kConsumers>(shared);
    sync_at<kRingConsumers, Shape::kConsumers>();
    consume<Shape, kType, kTarget>(job, plan, split, factors, group, shared, [] {});
  } else {
    Producer producer(job, stages, layout, shared, static_cast<int>(threadIdx.x));
    const auto produce = [&] {
      if (producer.valid()) producer.produce();
    };
#pragma unroll
    for (int i = 1; i < Shape::kStages; ++i) produce();
    fill_pairs<kRingType<kType, kTarget>, Shape::kConsumers>(shared);
    __syncthreads();
    consume<Shape, kType, kTarget>(job, plan, split, factors, group, shared, produce);
  }
}

template <class Shape, OutputType kType, ScaleTarget kTarget>
__global__ void __launch_bounds__(Shape::kThreads, 1)
    mma_ring(const __grid_constant__ Job job, const __grid_constant__ StagePlan plan,
             const __grid_constant__ SplitSums split, ScaleLayout layout,
             const __grid_constant__ TokenFactors factors) {
#if defined(__CUDA_ARCH__)
  if constexpr (is_compiled<Shape>(__CUDA_ARCH__)) {
    multiply_ring<Shape, kType, kTarget>(job, plan, split, layout, factors);
  } else {
    __trap();  // PTX of Turing alone on a later card
  }
#endif
}

}  // namespace nf4bench::kernels::cuda
