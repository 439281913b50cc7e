// Fused; tensor cores of any card from Turing on, fed through a ring of shared memory.

#include "cuda/matmul/persistent_launch.cuh"
#include "cuda/matmul/ring/mma_ring.cuh"
#include "cuda/matmul/variants.hpp"

#include <algorithm>
#include <cstring>

namespace nf4bench::kernels::cuda {
namespace {

// What is compiled, and what it takes in nanoseconds on an H200, as StageCosts says.
template <class ShapeType, ScaleTarget kTargetValue, int kStageNs, int kSpreadNs, int kTeamNs>
struct RingChoice {
  using Shape = ShapeType;
  static constexpr ScaleTarget kTarget = kTargetValue;
  static constexpr StageCosts kCosts = {.stage = kStageNs, .spread = kSpreadNs, .team = kTeamNs};
};

constexpr ScaleTarget kSums = ScaleTarget::kAccumulators;
constexpr ScaleTarget kPairs = ScaleTarget::kWeights;

using For8 = RingChoice<RingShape<2, 4, 4, 1, 4, 5, 4>, kSums, 720, 3000, 1500>;
using For16 = RingChoice<RingShape<2, 4, 4, 2, 4, 4, 4>, kSums, 850, 3000, 1500>;
using For32 = RingChoice<RingShape<2, 4, 4, 4, 4, 3, 4>, kPairs, 1150, 3500, 2000>;
using For64 = RingChoice<RingShape<8, 1, 2, 8, 2, 3, 4>, kPairs, 1800, 5000, 3000>;
using For64Small = RingChoice<RingShape<4, 2, 2, 8, 2, 4, 4>, kPairs, 950, 4000, 2000>;
using For128 = RingChoice<RingShape<8, 1, 2, 16, 2, 2, 0>, kPairs, 3100, 6000, 4000>;

// For cards that have 99 KiB of shared memory a block.
using Small8 = RingChoice<RingShape<1, 4, 4, 1, 4, 4, 4>, kSums, 500, 3000, 1500>;
using Small16 = RingChoice<RingShape<1, 4, 4, 2, 4, 3, 4>, kSums, 600, 3000, 1500>;
using Small32 = RingChoice<RingShape<1, 4, 4, 4, 4, 2, 4>, kPairs, 800, 3500, 2000>;
using Small64 = RingChoice<RingShape<4, 2, 2, 8, 2, 2, 4>, kPairs, 1200, 5000, 3000>;

// For Turing, which has 64 KiB.
using Turing8 = RingChoice<RingShape<2, 2, 2, 1, 2, 4, 4>, kSums, 300, 3000, 1500>;
using Turing16 = RingChoice<RingShape<2, 2, 2, 2, 2, 3, 4>, kSums, 400, 3000, 1500>;
using Turing32 = RingChoice<RingShape<2, 2, 2, 4, 2, 2, 4>, kPairs, 600, 3500, 2000>;

constexpr std::size_t kTuringBytes = std::size_t{64} << 10;
constexpr std::size_t kSmallBytes = std::size_t{99} << 10;
constexpr std::size_t kLargeBytes = std::size_t{163} << 10;  // as an A100 has

template <std::size_t kMost, class... Choices>
constexpr bool fit = ((Choices::Shape::kBytes <= kMost) && ...);
static_assert(fit<kTuringBytes, Turing8, Turing16, Turing32>);
static_assert(fit<kSmallBytes, Small8, Small16, Small32, Small64>);
static_assert(fit<kLargeBytes, For8, For16, For32, For64, For64Small, For128>);

// Sets of shapes; a configuration forces one that is smaller than the device's.
enum class ShapeSet { kTuring, kSmall, kLarge };
constexpr const char* kConfigNames[] = {"large", "small", nullptr};

ShapeSet shape_set(const Launch& launch) {
  if (launch.device.compute_capability < 80) return ShapeSet::kTuring;
  if (launch.config != nullptr && std::strcmp(launch.config, "small") == 0) return ShapeSet::kSmall;
  return shared_bytes_a_block(launch.device) < kLargeBytes ? ShapeSet::kSmall : ShapeSet::kLarge;
}

// Calls use(RingChoice) for what `problem` is computed with.
template <class Function>
auto with_choice(const Problem& problem, ShapeSet set, Function use) {
  const std::int64_t tokens = problem.tokens;
  switch (set) {
    case ShapeSet::kTuring:
      return tokens <= 8 ? use(Turing8{}) : tokens <= 16 ? use(Turing16{}) : use(Turing32{});
    case ShapeSet::kSmall:
      if (tokens <= 8) return use(Small8{});
      if (tokens <= 16) return use(Small16{});
      return tokens <= 32 ? use(Small32{}) : use(Small64{});
    case ShapeSet::kLarge:
      break;
  }
  // Small layers occupy more multiprocessors with fewer rows and tokens a tile.
  const bool is_large = problem.elements > std::int64_t{24} << 20;
  if (tokens <= 8) return use(For8{});
  if (tokens <= 16) return use(For16{});
  if (tokens <= 32) return use(For32{});
  if (!is_large) return use(For64Small{});
  return tokens <= 64 ? use(For64{}) : use(For128{});
}

constexpr int kMostRingBlocks = 192;  // of a grid, one a multiprocessor

template <class Choice>
StagePlan plan_ring(const Problem& problem, const DeviceFacts& device) {
  using Shape = typename Choice::Shape;
  const int token_groups = static_cast<int>(block_count(problem.tokens, Shape::kTokens));
  const int tiles = static_cast<int>(block_count(problem.outputs, Shape::kRows)) * token_groups;
  StagePlan plan = plan_tiles(tiles, static_cast<int>(block_count(problem.inputs, Shape::kInputs)),
                              std::min(device.multiprocessors, kMostRingBlocks), Choice::kCosts);
  plan.token_groups = token_groups;
  return plan;
}

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
  with_choice(job, shape_set(launch), [&](auto choice) {
    using Choice = decltype(choice);
    if (job.output_type == OutputType::kFloat16) {
      launch_choice<Choice, OutputType::kFloat16>(job, launch);
    } else {
      launch_choice<Choice, OutputType::kBfloat16>(job, launch);
    }
  });
}

const char* unsupported(const Problem& problem, const DeviceFacts& device) {
  if (problem.output_type == OutputType::kFloat32) return "multiplies 16-bit activations only";
  if (device.compute_capability < 80 && problem.output_type != OutputType::kFloat16) {
    return "needs bfloat16 products of compute capability 8.0";
  }
  if (problem.inputs % 64 != 0) return "needs a multiple of 64 inputs";
  if (problem.block_shift < 6) return "needs a blocksize of 64 or more";
  if (problem.elements >= std::int64_t{1} << 37) return "needs fewer than 2^37 weights";
  if (problem.inputs > std::int64_t{1} << 24) return "needs at most 2^24 inputs";
  if (problem.tokens > std::int64_t{1} << 20) return "multiplies up to 2^20 tokens";
  return nullptr;
}

std::size_t workspace_bytes(const Problem& problem, const Launch&) {
  std::int64_t most = 0;
  for (const ShapeSet set : {ShapeSet::kTuring, ShapeSet::kSmall, ShapeSet::kLarge}) {
    with_choice(problem, set, [&](auto choice) {
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
  variant.unsupported = unsupported;
  variant.workspace_bytes = workspace_bytes;
  variant.launch = launch_ring;
  variant.configs = kConfigNames;
  return variant;
}

}  // namespace nf4bench::kernels::cuda
