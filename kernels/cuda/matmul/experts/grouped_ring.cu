// Fused; mma_ring for a stack, whose slots a launch before has sorted and gathered. The stack is
// one tall matrix to the producers, and whole tiles are all that a block does, so that a row's sums
// do not depend on how many other rows there are.

#include "cuda/dispatch.cuh"
#include "cuda/matmul/experts/combine_slots.hpp"
#include "cuda/matmul/experts/grouped_outputs.cuh"
#include "cuda/matmul/experts/route_slots.hpp"
#include "cuda/matmul/experts/variants.hpp"
#include "cuda/matmul/limits.hpp"
#include "cuda/matmul/persistent_launch.cuh"
#include "cuda/matmul/ring/mma_ring.cuh"
#include "cuda/shared_bytes.hpp"

#include <algorithm>

namespace nf4bench::kernels::cuda {
namespace {

// Shared memory behind that of mma_ring: the tables.
template <class Shape>
struct GroupedRingShared {
  static constexpr int kRows = Shape::kBytes;
  static constexpr int kTiles = kRows + (kMostExperts + 4) * 4;
  static constexpr int kBytes = kTiles + (kMostExperts + 4) * 4;
};

// Stores what a warp has of a tile: of 16 rows and 8 slots, two neighbouring rows of slots 2t and
// 2t + 1 a lane.
template <class Shape, OutputType kType, SlotStore kStore, class Consumer>
__device__ __forceinline__ void store_tile(const Job& job, const GroupedPlan& plan,
                                           const RoutedRows& routed, const ExpertWalk<false>& walk,
                                           const RingGroup<Shape>& group, const Consumer& consumer,
                                           const TokenFactors& factors, float* sums) {
  const int row = walk.row_of_matrix() + group.first_row();
  const int count = walk.slots();
#pragma unroll
  for (int m = 0; m < Shape::kTilesM; ++m) {
    const int place = m * 8 + group.lane % 4 * 2;
    ListedSlot to[2] = {};
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      if (place + i < count) {
        to[i] = list_slot(job, __ldg(routed.order + walk.first_slot() + place + i));
      }
    }
#pragma unroll
    for (int own = 0; own < Shape::kOwnTiles; ++own) {
      const SlotOutputs<kType, kStore> outputs(job, plan, sums, walk.expert(),
                                               row + own * Shape::kTileRows);
      const float4 piece = consumer.piece(own * Shape::kTilesM + m);
      const float parts[2][2] = {{piece.x, piece.z}, {piece.y, piece.w}};
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        if (place + i >= count) continue;
        const int row_of_slot = walk.first_slot() + place + i;
        outputs.store(true, to[i], sum_of<kType>(parts[i][0], factors, row_of_slot),
                      sum_of<kType>(parts[i][1], factors, row_of_slot));
      }
    }
  }
}

template <class Shape, OutputType kType, ScaleTarget kTarget>
__device__ __forceinline__ void multiply_grouped(const Job& job, const GroupedPlan& plan,
                                                 const RoutedRows& routed,
                                                 const TokenFactors& factors, float* sums,
                                                 ScaleLayout layout) {
  extern __shared__ __align__(1024) std::uint8_t shared[];
  using At = GroupedRingShared<Shape>;
  const ExpertTables tables = {reinterpret_cast<int*>(shared + At::kRows),
                               reinterpret_cast<int*>(shared + At::kTiles)};
  if (threadIdx.x == 0) RingSync<Shape>(shared_address(shared)).init();
  if (job.nested && threadIdx.x < 256) {
    reinterpret_cast<float*>(shared + Shape::kMap)[threadIdx.x] =
        __ldg(job.nested_map + threadIdx.x);
  }
  allow_next_kernel();
  wait_for_previous_kernel();
  for (int i = threadIdx.x; i <= plan.experts; i += Shape::kThreads) {
    tables.rows[i] = routed.rows[i];
    tables.tiles[i] = routed.tiles[i];
  }
  __syncthreads();
  ExpertWalk<false> walk(plan, tables);
  if (threadIdx.x >= Shape::kConsumers) {
    RingProducer<Shape, kProductType<kType>, kTarget, ExpertWalk<false>> producer(
        job, walk, layout, shared, static_cast<int>(threadIdx.x) - Shape::kConsumers);
    while (producer.valid()) producer.produce();
    producer.finish();
    return;
  }
  fill_pairs<kProductType<kType>, Shape::kConsumers>(shared);
  sync_at<kRingConsumers, Shape::kConsumers>();
  const RingGroup<Shape> group;
  RingConsumer<Shape, kProductType<kType>, kTarget> consumer(group, shared_address(shared));
  for (; walk.valid(); walk.advance_tile()) {
    consumer.clear();
#pragma unroll 1
    for (int stage = 0; stage < plan.stages; ++stage) consumer.multiply_stage([] {});
    consumer.finish_tile();
    with_slot_store(plan, sums, [&](auto how) {
      store_tile<Shape, kType, decltype(how)::value>(job, plan, routed, walk, group, consumer,
                                                     factors, sums);
    });
  }
}

// `job` has the stack as one matrix and the gathered rows as input.
template <class Shape, OutputType kType, ScaleTarget kTarget>
__global__ void __launch_bounds__(Shape::kThreads, 1)
    grouped_ring(const __grid_constant__ Job job, const __grid_constant__ GroupedPlan plan,
                 const __grid_constant__ RoutedRows routed,
                 const __grid_constant__ TokenFactors factors, float* sums, ScaleLayout layout) {
#if defined(__CUDA_ARCH__)
  if constexpr (is_compiled<Shape>(__CUDA_ARCH__)) {
    multiply_grouped<Shape, kType, kTarget>(job, plan, routed, factors, sums, layout);
  } else {
    __trap();  // PTX of Turing alone on a later card
  }
#endif
}

template <class ShapeType, ScaleTarget kTargetValue>
struct GroupedRingChoice {
  using Shape = ShapeType;
  static constexpr ScaleTarget kTarget = kTargetValue;
};

constexpr ScaleTarget kSums = ScaleTarget::kAccumulators;
constexpr ScaleTarget kPairs = ScaleTarget::kWeights;

// As mma_ring's, with fewer slots where the tables need their place.
using For8 = GroupedRingChoice<RingShape<2, 4, 4, 1, 4, 4, 4>, kSums>;
using For16 = GroupedRingChoice<RingShape<2, 4, 4, 2, 4, 4, 4>, kSums>;
using For32 = GroupedRingChoice<RingShape<2, 4, 4, 4, 4, 3, 4>, kPairs>;
using For64 = GroupedRingChoice<RingShape<8, 1, 2, 8, 2, 3, 4>, kPairs>;
using Small8 = GroupedRingChoice<RingShape<1, 4, 4, 1, 4, 4, 4>, kSums>;
using Small16 = GroupedRingChoice<RingShape<1, 4, 4, 2, 4, 3, 4>, kSums>;
using Small32 = GroupedRingChoice<RingShape<1, 4, 4, 4, 4, 2, 4>, kPairs>;
using Small64 = GroupedRingChoice<RingShape<4, 2, 2, 8, 2, 2, 4>, kPairs>;
using Turing8 = GroupedRingChoice<RingShape<2, 2, 2, 1, 2, 3, 4>, kSums>;
using Turing16 = GroupedRingChoice<RingShape<2, 2, 2, 2, 2, 2, 4>, kSums>;

template <std::size_t kMost, class... Choices>
constexpr bool fit = ((GroupedRingShared<typename Choices::Shape>::kBytes <= kMost) && ...);
constexpr std::size_t kLargeBytes = std::size_t{163} << 10;
static_assert(fit<(std::size_t{64} << 10), Turing8, Turing16>);
static_assert(fit<(std::size_t{99} << 10), Small8, Small16, Small32, Small64>);
static_assert(fit<kLargeBytes, For8, For16, For32, For64>);

// Calls use(GroupedRingChoice): tiles of as many slots as most experts have where tokens choose
// evenly.
template <class Function>
void with_row_choice(const Problem& problem, const DeviceFacts& device, Function use) {
  const std::int64_t mean = slots_of(problem) / problem.group.experts;
  if (device.compute_capability < 80) return mean <= 5 ? use(Turing8{}) : use(Turing16{});
  if (shared_bytes_a_block(device) < kLargeBytes) {
    if (mean <= 5) return use(Small8{});
    if (mean <= 11) return use(Small16{});
    return mean <= 24 ? use(Small32{}) : use(Small64{});
  }
  if (mean <= 5) return use(For8{});
  if (mean <= 11) return use(For16{});
  return mean <= 24 ? use(For32{}) : use(For64{});
}

template <class Function>
void with_choice(const Problem& problem, const DeviceFacts& device, Function use) {
  with_row_choice(problem, device, [&](auto choice) {
    if (problem.transposed) {
      use(GroupedRingChoice<typename decltype(choice)::Shape::Transposed, kPairs>{});
    } else {
      use(choice);
    }
  });
}

// The workspace: what is routed, the slots' sums, and the factors of their rows.
struct RingParts {
  std::int64_t sums;
  std::int64_t factors;
  std::int64_t bytes;

  RingParts(const Problem& problem, const DeviceFacts& device)
      : sums(block_count(RoutedWorkspace(problem, RoutedInput::kSorted).bytes, 256) * 256),
        factors(sums + (problem.group.sums_slots ? slots_of(problem) * problem.outputs * 4 : 0)),
        bytes(factors + (takes_float16_tokens(problem, device) ? slots_of(problem) * 4 : 0)) {}
};

template <class Choice, OutputType kType>
void launch_choice(const Job& job, const Launch& launch) {
  using Shape = typename Choice::Shape;
  constexpr auto kBytes = static_cast<std::size_t>(GroupedRingShared<Shape>::kBytes);
  const GroupedPlan plan = plan_grouped(job, Shape::kRows, Shape::kTokens, Shape::kInputs);
  auto* workspace = static_cast<std::uint8_t*>(job.workspace);
  const RoutedRows routed = launch_route_slots(job, launch, Shape::kTokens, RoutedInput::kSorted);
  const RingParts own(job, launch.device);
  float* sums = job.group.sums_slots ? reinterpret_cast<float*>(workspace + own.sums) : nullptr;
  auto* const rows = routed.input;
  TokenFactors factors;
  if (takes_float16_tokens(job, launch.device)) {
    auto* const values = reinterpret_cast<float*>(workspace + own.factors);
    launch_float16_tokens(launch, job.output_type, TokenRange::kFloat16, rows, rows, values,
                          slots_of(job), job.inputs, routed.rows + job.group.experts);
    factors.values = values;
  }
  Job stack = job;
  if (!Shape::kTransposed) stack.outputs *= job.group.experts;  // one tall matrix
  stack.input = rows;
  stack.tokens = slots_of(job);
  const std::int64_t tiles = most_tiles(job, Shape::kTokens) * plan.row_groups;
  const Grid grid = {
      static_cast<unsigned>(std::min<std::int64_t>(tiles, launch.device.multiprocessors)),
      Shape::kThreads, kBytes};
  launch_grid(launch, grid, grouped_ring<Shape, kType, Choice::kTarget>, stack, plan, routed,
              factors, sums, ring_scales<Shape>(stack));
  if (sums != nullptr) launch_combine_slots(job, launch, sums);
}

void launch_ring(const Job& job, const Launch& launch) {
  with_choice(job, launch.device, [&](auto choice) {
    using Choice = decltype(choice);
    dispatch_16_bit(job,
                    [&](auto type) { launch_choice<Choice, decltype(type)::value>(job, launch); });
  });
}

}  // namespace

Variant experts_grouped_ring() {
  Variant variant;
  variant.name = "grouped_ring";
  variant.summary = "fused; mma_ring for a stack, rows sorted by expert on the device";
  variant.traits.launches = 2;
  variant.traits.inline_ptx = true;
  variant.traits.persistent = true;
  variant.traits.activates = true;
  variant.traits.mirrors = "mma_ring, for stacks";
  variant.unsupported = [](const Problem& problem, const DeviceFacts& device) {
    if (problem.transposed && problem.outputs % 64 != 0) return kNeedsWholeBlocks;
    if (problem.transposed && takes_float16_tokens(problem, device)) return kNeedsFloat16;
    return lacks_turns(problem) ? kNeedsTurns : unsupported_grouped(problem);
  };
  variant.workspace_bytes = [](const Problem& problem, const Launch& launch) {
    return static_cast<std::size_t>(RingParts(problem, launch.device).bytes);
  };
  variant.launch = launch_ring;
  return variant;
}

}  // namespace nf4bench::kernels::cuda
