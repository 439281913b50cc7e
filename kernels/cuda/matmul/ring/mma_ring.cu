// Fused; tensor cores of any card from Turing on, fed through a ring of shared memory.

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

template <class Choice, OutputType kType>
void launch_choice(const Job& job, const Launch& launch) {
  using Shape = typename Choice::Shape;
  const StagePlan plan = plan_ring<Choice>(job, launch.device);
  auto* workspace = static_cast<std::uint8_t*>(job.workspace);
  const SplitSums split = {
      reinterpret_cast<float*>(workspace + RingWorkspace<Shape>::kCounterBytes),
      reinterpret_cast<unsigned long long*>(workspace)};
  const Grid grid = {static_cast<unsigned>(plan.blocks), Shape::kThreads, Shape::kBytes};
  launch_grid(launch, grid, mma_ring<Shape, kType, Choice::kTarget>, job, plan, split,
              ring_scales<Shape>(job));
}

void launch_ring(const Job& job, const Launch& launch) {
  with_ring_choice(job, ring_shape_set(launch), [&](auto choice) {
    using Choice = decltype(choice);
    if (job.output_type == OutputType::kFloat16) {
      launch_choice<Choice, OutputType::kFloat16>(job, launch);
    } else {
      launch_choice<Choice, OutputType::kBfloat16>(job, launch);
    }
  });
}

std::size_t workspace_bytes(const Problem& problem, const Launch&) {
  std::int64_t most = 0;
  for (const RingShapeSet set :
       {RingShapeSet::kTuring, RingShapeSet::kSmall, RingShapeSet::kLarge}) {
    with_ring_choice(problem, set, [&](auto choice) {
      most = std::max(most, RingWorkspace<typename decltype(choice)::Shape>::kBytes);
    });
  }
  return static_cast<std::size_t>(most);
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
  variant.workspace_bytes = workspace_bytes;
  variant.launch = launch_ring;
  variant.configs = kRingConfigNames;
  return variant;
}

}  // namespace nf4bench::kernels::cuda
