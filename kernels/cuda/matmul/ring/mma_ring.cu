// Fused; tensor cores of any card from Turing on, fed through a ring of shared memory.

#include "cuda/dispatch.cuh"
#include "cuda/matmul/limits.hpp"
#include "cuda/matmul/persistent_launch.cuh"
#include "cuda/matmul/ring/mma_ring.cuh"
#include "cuda/matmul/ring/ring_choice.hpp"
#include "cuda/matmul/variants.hpp"

#include <algorithm>

namespace nf4bench::kernels::cuda {
namespace {

// The workspace, in bytes from its start: counters, then parts.
template <class Shape>
struct RingWorkspace {
  static constexpr std::int64_t kCounterBytes = kMostRingBlocks * Shape::kGroups * 8;
  static constexpr std::int64_t kBytes =
      kCounterBytes + std::int64_t{kMostRingBlocks} * 2 * Shape::kGroups * Shape::kGroupSums * 4;
};

std::size_t product_bytes(const Problem& problem) {
  std::int64_t most = 0;
  for (const RingShapeSet set :
       {RingShapeSet::kTuring, RingShapeSet::kSmall, RingShapeSet::kLarge}) {
    with_ring_choice(problem, set, [&](auto choice) {
      most = std::max(most, RingWorkspace<typename decltype(choice)::Shape>::kBytes);
    });
  }
  return static_cast<std::size_t>(most);
}

// Weights of bfloat16 may be beyond float16, which their sums are not.
template <class Choice, OutputType kType>
inline constexpr ScaleTarget kTarget =
    Choice::Shape::kIsTurings && !Choice::Shape::kTransposed && kType == OutputType::kBfloat16
        ? ScaleTarget::kAccumulators
        : Choice::kTarget;

template <class Choice, OutputType kType>
void launch_choice(const Job& job, const Launch& launch, const TokenFactors& factors) {
  using Shape = typename Choice::Shape;
  const StagePlan plan = plan_ring<Choice>(job, launch.device);
  auto* workspace = static_cast<std::uint8_t*>(job.workspace);
  const SplitSums split = {
      reinterpret_cast<float*>(workspace + RingWorkspace<Shape>::kCounterBytes),
      reinterpret_cast<unsigned long long*>(workspace)};
  const Grid grid = {static_cast<unsigned>(plan.blocks), Shape::kThreads, Shape::kBytes};
  launch_grid(launch, grid, mma_ring<Shape, kType, kTarget<Choice, kType>>, job, plan, split,
              ring_scales<Shape>(job), factors);
}

TokenRange range_of(const Problem& problem, const Launch& launch) {
  const RingShapeSet set = ring_shape_set(launch);
  const bool adds_in_float16 = with_ring_choice(problem, set, [](auto choice) {
    return decltype(choice)::kTarget == ScaleTarget::kFloat16Accumulators;
  });
  return adds_in_float16 ? TokenRange::kFloat16Sums : token_range(problem, launch.device);
}

void launch_tokens(const Job& job, const Launch& launch, const TokenFactors& factors) {
  with_ring_choice(job, ring_shape_set(launch), [&](auto choice) {
    using Choice = decltype(choice);
    dispatch_16_bit(job, [&](auto type) {
      launch_choice<Choice, decltype(type)::value>(job, launch, factors);
    });
  });
}

// Cards with tiles of 128 tokens take them as they are given, without factors.
void launch_ring(const Job& job, const Launch& launch) {
  with_tokens(job, launch, range_of(job, launch), product_bytes(job),
              [&](const Job& part, const TokenFactors& factors) {
                Job first = part;
                first.tokens = first_ring_tokens(part, ring_shape_set(launch));
                launch_tokens(first, launch, factors);
                if (first.tokens == part.tokens) return;
                Job rest = part;
                rest.tokens -= first.tokens;
                skip_tokens(rest, first.tokens);
                launch_tokens(rest, launch, {});
              });
}

}  // namespace

Variant matmul_mma_ring() {
  Variant variant;
  variant.name = "mma_ring";
  variant.summary = "fused; tensor cores of Turing and later, fed through a ring of shared memory";
  variant.traits.launches = 1;
  variant.traits.inline_ptx = true;
  variant.traits.persistent = true;
  variant.traits.mirrors = "Marlin's way (arXiv 2408.11743), without repacking";
  variant.unsupported = mma_ring_unsupported;
  variant.workspace_bytes = [](const Problem& problem, const Launch& launch) {
    return with_float16_tokens(product_bytes(problem), problem, range_of(problem, launch));
  };
  variant.launch = launch_ring;
  variant.configs = kRingConfigNames;
  return variant;
}

}  // namespace nf4bench::kernels::cuda
