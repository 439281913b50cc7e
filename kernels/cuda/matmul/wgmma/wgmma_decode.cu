// Fused; Hopper's warpgroup products with weights decoded into registers.

#include "cuda/matmul/variants.hpp"
#include "cuda/matmul/wgmma/wgmma_decode.cuh"

#include <algorithm>
#include <iterator>

namespace nf4bench::kernels::cuda {
namespace {

// What is compiled, and what it takes on an H200, in nanoseconds: a call, and as StageCosts says.
template <class ShapeType, int kCallNsValue, int kBlockNs, int kStageNs, int kSpreadNs, int kTeamNs,
          int kPairNs, int kClusterNs>
struct Choice {
  using Shape = ShapeType;
  static constexpr int kCallNs = kCallNsValue;
  static constexpr StageCosts kCosts = {.block = kBlockNs,
                                        .stage = kStageNs,
                                        .spread = kSpreadNs,
                                        .team = kTeamNs,
                                        .pair = kPairNs,
                                        .cluster = kClusterNs};
};

using For8 = Choice<WgmmaShape<8, 2, 6, 4, 4>, 1900, 8, 560, 4000, 1600, 100, 150>;
using For8Tall = Choice<WgmmaShape<8, 3, 5, 4, 4>, 1700, 12, 780, 4200, 1900, 350, 650>;
using For16 = Choice<WgmmaShape<16, 2, 6, 4, 4>, 2200, 9, 670, 3500, 1550, 100, 200>;
using For16Tall = Choice<WgmmaShape<16, 3, 4, 4, 4>, 2100, 16, 920, 3700, 1850, 50, 950>;
using For32 = Choice<WgmmaShape<32, 2, 5, 4, 4>, 1900, 11, 890, 3800, 1900, 0, 450>;
using For32Tall = Choice<WgmmaShape<32, 3, 4, 4, 4>, 1600, 20, 1160, 3800, 1750, 100, 750>;
using For64 = Choice<WgmmaShape<64, 2, 2, 9, 2>, 2100, 10, 1130, 5300, 2450, 0, 950>;
using For64Tall = Choice<WgmmaShape<64, 3, 2, 8, 2>, 1900, 14, 1440, 5300, 2650, 300, 1400>;
using For96 = Choice<WgmmaShape<96, 2, 2, 13, 1>, 2050, 11, 1280, 6200, 2600, 250, 1500>;
using For96Tall = Choice<WgmmaShape<96, 3, 2, 11, 1>, 1950, 15, 1780, 6900, 3200, 800, 2800>;
using For128 = Choice<WgmmaShape<128, 2, 2, 9, 1>, 2200, 13, 1510, 6700, 2850, 450, 1700>;
using For256 = Choice<WgmmaShape<256, 2, 3, 4, 1>, 2700, 24, 2320, 10700, 3750, 750, 3450>;

constexpr std::int64_t kMostTokens = std::int64_t{1} << 20;

// A cluster lies within some 16 or 18 multiprocessors. As cudaOccupancyMaxActiveClusters() says of
// an H200, which has 132: 66, 30 and 15 clusters of 2, 4 and 8.
int clusters_at_once(int multiprocessors, int cluster) {
  return (cluster == 2 ? multiprocessors : multiprocessors * 10 / 11) / cluster;
}

template <class Choice>
StagePlan plan_stages(const Problem& problem, int multiprocessors) {
  using Shape = typename Choice::Shape;
  const int token_groups = static_cast<int>(block_count(problem.tokens, Shape::kTokens));
  const int tiles = static_cast<int>(block_count(problem.outputs, Shape::kRows)) * token_groups;
  const int stages = static_cast<int>(block_count(problem.inputs, 256));
  StagePlan plan =
      plan_tiles(tiles, stages, std::min(multiprocessors, kMostGridBlocks), Choice::kCosts);
  // More blocks of more tokens would read more of each other's sums than it saves.
  const int most_blocks = Shape::kTokens < 128 ? 8 : 4;
  for (int cluster = 2; cluster <= most_blocks; cluster *= 2) {
    if (cluster > stages || tiles > clusters_at_once(multiprocessors, cluster)) continue;
    plan = faster_plan(plan_clusters(tiles, stages, cluster), plan, Choice::kCosts);
  }
  plan.token_groups = token_groups;
  return plan;
}

// The time it takes on the largest device that there is, so that the choice follows from the
// problem alone.
template <class Choice>
std::int64_t estimate_ns(const Problem& problem) {
  const StagePlan plan = plan_stages<Choice>(problem, 132);
  return Choice::kCallNs + time_of(plan, Choice::kCosts);
}

// Calls use(Choice) for the `index`-th of them.
template <class First, class... Rest, class Function>
auto with_one_of(std::size_t index, Function use) {
  if constexpr (sizeof...(Rest) == 0) {
    return use(First{});
  } else {
    return index == 0 ? use(First{}) : with_one_of<Rest...>(index - 1, use);
  }
}

// Calls use(Choice) for the fastest of them.
template <class... Choices, class Function>
auto with_fastest(const Problem& problem, Function use) {
  const std::int64_t times[] = {estimate_ns<Choices>(problem)...};
  const auto* fastest = std::min_element(std::begin(times), std::end(times));
  return with_one_of<Choices...>(static_cast<std::size_t>(fastest - times), use);
}

// Calls use(Choice) for what `problem` is computed with. Small layers of many tokens occupy more
// multiprocessors with fewer tokens a tile.
template <class Function>
auto with_choice(const Problem& problem, Function use) {
  if (problem.tokens <= 8) return with_fastest<For8, For8Tall, For32>(problem, use);
  if (problem.tokens <= 16) return with_fastest<For16, For16Tall, For32>(problem, use);
  if (problem.tokens <= 32) return with_fastest<For16, For32, For32Tall>(problem, use);
  if (problem.tokens <= 64) return with_fastest<For16, For32, For64, For64Tall>(problem, use);
  if (problem.tokens <= 96) {
    return with_fastest<For32, For64, For64Tall, For96, For96Tall, For128>(problem, use);
  }
  if (problem.tokens <= 128) return with_fastest<For32, For64, For64Tall, For128>(problem, use);
  // A second tile of 256 tokens, most of which there are not, would take longer than a full one.
  if (problem.tokens > 256 && problem.tokens <= 384) {
    return with_fastest<For64, For64Tall, For96, For96Tall, For128>(problem, use);
  }
  return with_fastest<For64, For96, For96Tall, For128, For256>(problem, use);
}

// Whether activations are regrouped: where a tile has all tokens, and enough stages of the busiest
// block gain by it.
template <class Shape>
bool regroups(const StagePlan& plan) {
  constexpr int kEnough = Shape::kTokens == 32 ? 8 : 11;
  return Shape::kCanRegroup && plan.token_groups == 1 && stages_of(plan) >= kEnough;
}

// Parts of the workspace, in bytes from its start: counters, then sums, then regrouped activations.
template <class Shape>
struct Workspace {
  static constexpr int kTileCounters = kMostGridBlocks * Shape::kGroups;
  static constexpr std::int64_t kSums = (std::int64_t{kTileCounters} + 1) * 8 + 255 & ~255;
  static constexpr std::int64_t kTokens =
      kSums + std::int64_t{kMostGridBlocks} * 2 * Shape::kGroups * Shape::kGroupSums * 4;

  // On any device, some of which have fewer multiprocessors and so more stages a block.
  static std::int64_t bytes(const Problem& problem) {
    const std::int64_t quarters = block_count(problem.inputs, 256) * 4;
    const bool may_regroup = Shape::kCanRegroup && problem.tokens <= Shape::kTokens;
    return kTokens + (may_regroup ? quarters * Shape::kQuarterBytes : 0);
  }
};

template <class Shape, OutputType kType>
void launch_shape(const Job& job, const Launch& launch, const StagePlan& plan) {
  using Parts = Workspace<Shape>;
  auto* workspace = static_cast<std::uint8_t*>(job.workspace);
  auto* counters = reinterpret_cast<unsigned long long*>(workspace);
  const SplitSums split = {reinterpret_cast<float*>(workspace + Parts::kSums), counters};
  const ClusterSums cluster = plan.is_cluster ? place_cluster_sums<Shape>(plan) : ClusterSums{};
  const RegroupedTokens regrouped = {workspace + Parts::kTokens, counters + Parts::kTileCounters};
  const Grid grid = {.blocks = static_cast<unsigned>(plan.blocks),
                     .threads = Shape::kThreads,
                     .shared_bytes = Shape::kBytes,
                     .cluster = plan.is_cluster ? static_cast<unsigned>(plan.team) : 1};
  auto* kernel = wgmma_decode<Shape, false, kType>;
  if constexpr (Shape::kCanRegroup) {
    if (regroups<Shape>(plan)) kernel = wgmma_decode<Shape, true, kType>;
  }
  launch_grid(launch, grid, kernel, weight_map(job, launch.device, kGroupRows),
              token_map(job, launch.device, Shape::kTokens), job, plan, split, cluster, regrouped,
              stage_scales(job));
}

template <class Choice>
void launch_choice(const Job& job, const Launch& launch) {
  using Shape = typename Choice::Shape;
  const StagePlan plan = plan_stages<Choice>(job, launch.device.multiprocessors);
  if (job.output_type == OutputType::kFloat16) {
    launch_shape<Shape, OutputType::kFloat16>(job, launch, plan);
  } else {
    launch_shape<Shape, OutputType::kBfloat16>(job, launch, plan);
  }
}

const char* unsupported(const Problem& problem, const DeviceFacts& device) {
  if (device.compute_capability != 90)
    return "needs the warpgroup products of compute capability 9.0";
  if (problem.output_type == OutputType::kFloat32) return "multiplies 16-bit activations only";
  if (problem.inputs % 64 != 0) return "needs a multiple of 64 inputs";
  if (problem.block_shift < 6) return "needs a blocksize of 64 or more";
  if (problem.elements >= std::int64_t{1} << 37) return "needs fewer than 2^37 weights";
  if (problem.tokens > kMostTokens) return "multiplies up to 2^20 tokens";
  return nullptr;
}

std::size_t workspace_bytes(const Problem& problem, const Launch&) {
  return with_choice(problem, [&](auto choice) {
    return static_cast<std::size_t>(Workspace<typename decltype(choice)::Shape>::bytes(problem));
  });
}

void launch_wgmma(const Job& job, const Launch& launch) {
  with_choice(job, [&](auto choice) { launch_choice<decltype(choice)>(job, launch); });
}

}  // namespace

Variant matmul_wgmma_decode() {
  Variant variant;
  variant.name = "wgmma_decode";
  variant.summary = "fused; Hopper's warpgroup products, weights in registers";
  variant.traits.launches = 1;
  variant.traits.inline_ptx = true;
  variant.traits.cache_hints = true;
  variant.traits.persistent = true;
  variant.traits.mirrors = "the fastest for many tokens on Hopper";
  variant.unsupported = unsupported;
  variant.workspace_bytes = workspace_bytes;
  variant.launch = launch_wgmma;
  return variant;
}

}  // namespace nf4bench::kernels::cuda
