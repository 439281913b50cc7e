#pragma once

// What wgmma_decode is compiled for, and which of it a product gets. Plain host code.

#include "cuda/matmul/schedule/stage_plan.hpp"
#include "variant.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>

namespace nf4bench::kernels::cuda {

inline constexpr int kMostGridBlocks = 144;
inline constexpr int kGroupRows = 64;  // of a consumer warpgroup
// Up to so many tokens a tile products are those of single warps, else of warpgroups.
inline constexpr int kMostWarpTokens = 24;

struct WgmmaConfig {
  int tokens;               // of a tile
  int groups;               // consumer warpgroups
  int weight_slots;         // stages that the ring of weights holds
  int token_slots;          // slots of the ring of activations,
  int slot_quarters;        // which are so many quarters of a stage
  bool transposed = false;  // the weight lies as [inputs, outputs]
  // What it takes on an H200, in nanoseconds: a call, and as StageCosts says.
  int call_ns;
  StageCosts costs;

  constexpr int rows() const { return groups * kGroupRows; }  // of a tile
};

// That a multiprocessor has.
constexpr int blocks_of(int groups) {
  return groups == 1 ? 2 : 1;
}

// In the order of kWgmmaConfigs. Tall: of three consumer warpgroups. Transposed: of weights that
// lie as [inputs, outputs].
enum WgmmaConfigIndex {
  kFor8,
  kFor8Tall,
  kFor16,
  kFor16Tall,
  kFor32,
  kFor32Tall,
  kFor64,
  kFor64Tall,
  kFor96,
  kFor96Tall,
  kFor128,
  kFor256,
  kTransposed32,
  kTransposed96,
  kTransposed192,
  kWgmmaConfigCount
};

// clang-format off
inline constexpr WgmmaConfig kWgmmaConfigs[kWgmmaConfigCount] = {
    {.tokens = 8, .groups = 2, .weight_slots = 6, .token_slots = 4, .slot_quarters = 4, .call_ns = 1900,
     .costs = {.block = 8, .stage = 560, .spread = 4000, .team = 1600, .pair = 100, .cluster = 150}},
    {.tokens = 8, .groups = 3, .weight_slots = 5, .token_slots = 4, .slot_quarters = 4, .call_ns = 1700,
     .costs = {.block = 12, .stage = 780, .spread = 4200, .team = 1900, .pair = 350, .cluster = 650}},
    {.tokens = 16, .groups = 2, .weight_slots = 6, .token_slots = 4, .slot_quarters = 4, .call_ns = 2200,
     .costs = {.block = 9, .stage = 670, .spread = 3500, .team = 1550, .pair = 100, .cluster = 200}},
    {.tokens = 16, .groups = 3, .weight_slots = 4, .token_slots = 4, .slot_quarters = 4, .call_ns = 2100,
     .costs = {.block = 16, .stage = 920, .spread = 3700, .team = 1850, .pair = 50, .cluster = 950}},
    {.tokens = 32, .groups = 2, .weight_slots = 5, .token_slots = 4, .slot_quarters = 4, .call_ns = 1900,
     .costs = {.block = 11, .stage = 890, .spread = 3800, .team = 1900, .pair = 0, .cluster = 450}},
    {.tokens = 32, .groups = 3, .weight_slots = 4, .token_slots = 4, .slot_quarters = 4, .call_ns = 1600,
     .costs = {.block = 20, .stage = 1160, .spread = 3800, .team = 1750, .pair = 100, .cluster = 750}},
    {.tokens = 64, .groups = 2, .weight_slots = 2, .token_slots = 9, .slot_quarters = 2, .call_ns = 2100,
     .costs = {.block = 10, .stage = 1130, .spread = 5300, .team = 2450, .pair = 0, .cluster = 950}},
    {.tokens = 64, .groups = 3, .weight_slots = 2, .token_slots = 8, .slot_quarters = 2, .call_ns = 1900,
     .costs = {.block = 14, .stage = 1440, .spread = 5300, .team = 2650, .pair = 300, .cluster = 1400}},
    {.tokens = 96, .groups = 2, .weight_slots = 2, .token_slots = 13, .slot_quarters = 1, .call_ns = 2050,
     .costs = {.block = 11, .stage = 1280, .spread = 6200, .team = 2600, .pair = 250, .cluster = 1500}},
    {.tokens = 96, .groups = 3, .weight_slots = 2, .token_slots = 11, .slot_quarters = 1, .call_ns = 1950,
     .costs = {.block = 15, .stage = 1780, .spread = 6900, .team = 3200, .pair = 800, .cluster = 2800}},
    {.tokens = 128, .groups = 2, .weight_slots = 2, .token_slots = 9, .slot_quarters = 1, .call_ns = 2200,
     .costs = {.block = 13, .stage = 1510, .spread = 6700, .team = 2850, .pair = 450, .cluster = 1700}},
    {.tokens = 256, .groups = 2, .weight_slots = 3, .token_slots = 4, .slot_quarters = 1, .call_ns = 2700,
     .costs = {.block = 24, .stage = 2320, .spread = 10700, .team = 3750, .pair = 750, .cluster = 3450}},
    {.tokens = 32, .groups = 2, .weight_slots = 4, .token_slots = 4, .slot_quarters = 4, .transposed = true, .call_ns = 1900,
     .costs = {.block = 11, .stage = 1300, .spread = 3800, .team = 1900, .pair = 0, .cluster = 450}},
    {.tokens = 96, .groups = 2, .weight_slots = 3, .token_slots = 10, .slot_quarters = 1, .transposed = true, .call_ns = 2050,
     .costs = {.block = 11, .stage = 1780, .spread = 6200, .team = 2600, .pair = 250, .cluster = 1500}},
    {.tokens = 192, .groups = 2, .weight_slots = 3, .token_slots = 5, .slot_quarters = 1, .transposed = true, .call_ns = 2700,
     .costs = {.block = 24, .stage = 2830, .spread = 10700, .team = 3750, .pair = 750, .cluster = 3450}}};
// clang-format on

inline constexpr std::int64_t kMostWgmmaTokens = std::int64_t{1} << 20;

// Which of them are considered, up to how many tokens. Small layers of many tokens occupy more
// multiprocessors with fewer tokens a tile.
struct WgmmaCandidates {
  std::int64_t most_tokens;
  int count;
  WgmmaConfigIndex configs[6];
};

inline constexpr WgmmaCandidates kWgmmaCandidates[] = {
    {8, 3, {kFor8, kFor8Tall, kFor32}},
    {16, 3, {kFor16, kFor16Tall, kFor32}},
    {32, 3, {kFor16, kFor32, kFor32Tall}},
    {64, 4, {kFor16, kFor32, kFor64, kFor64Tall}},
    {96, 6, {kFor32, kFor64, kFor64Tall, kFor96, kFor96Tall, kFor128}},
    {128, 4, {kFor32, kFor64, kFor64Tall, kFor128}},
    {256, 5, {kFor64, kFor96, kFor96Tall, kFor128, kFor256}},
    // A second tile of 256 tokens, most of which there are not, would take longer than a full one.
    {384, 5, {kFor64, kFor64Tall, kFor96, kFor96Tall, kFor128}},
    {kMostWgmmaTokens, 5, {kFor64, kFor96, kFor96Tall, kFor128, kFor256}}};

inline constexpr WgmmaCandidates kTransposedCandidates = {
    kMostWgmmaTokens, 3, {kTransposed32, kTransposed96, kTransposed192}};

// A cluster lies within some 16 or 18 multiprocessors. As cudaOccupancyMaxActiveClusters() says of
// an H200, which has 132: 66, 30 and 15 clusters of 2, 4 and 8.
inline int clusters_at_once(int multiprocessors, int cluster) {
  return (cluster == 2 ? multiprocessors : multiprocessors * 10 / 11) / cluster;
}

inline StagePlan plan_wgmma(const WgmmaConfig& config, const Problem& problem,
                            int multiprocessors) {
  const int token_groups = static_cast<int>(block_count(problem.tokens, config.tokens));
  const int tiles = static_cast<int>(block_count(problem.outputs, config.rows())) * token_groups;
  const int stages = static_cast<int>(block_count(problem.inputs, 256));
  StagePlan plan =
      plan_tiles(tiles, stages, std::min(multiprocessors, kMostGridBlocks), config.costs);
  // More blocks of more tokens would read more of each other's sums than it saves.
  const int most_blocks = config.tokens < 128 ? 8 : 4;
  for (int cluster = 2; cluster <= most_blocks; cluster *= 2) {
    if (cluster > stages || tiles > clusters_at_once(multiprocessors, cluster)) continue;
    plan = faster_plan(plan_clusters(tiles, stages, cluster), plan, config.costs);
  }
  plan.token_groups = token_groups;
  return plan;
}

// The fastest on the largest device that there is, so that the choice follows from the problem
// alone.
inline WgmmaConfigIndex choose_wgmma(const Problem& problem) {
  const WgmmaCandidates* candidates =
      problem.transposed ? &kTransposedCandidates : kWgmmaCandidates;
  while (problem.tokens > candidates->most_tokens && candidates->most_tokens < kMostWgmmaTokens) {
    ++candidates;
  }
  WgmmaConfigIndex fastest = {};
  std::int64_t least_ns = std::numeric_limits<std::int64_t>::max();
  for (int i = 0; i < candidates->count; ++i) {
    const WgmmaConfig& config = kWgmmaConfigs[candidates->configs[i]];
    const std::int64_t ns =
        config.call_ns + time_of(plan_wgmma(config, problem, 132), config.costs);
    if (ns >= least_ns) continue;
    least_ns = ns;
    fastest = candidates->configs[i];
  }
  return fastest;
}

// Whether activations may be regrouped: where that was found to pay.
constexpr bool can_regroup(int tokens, int groups, bool transposed) {
  return !transposed && (tokens == 32 || (tokens == 64 && groups == 3));
}
constexpr bool can_regroup(const WgmmaConfig& config) {
  return can_regroup(config.tokens, config.groups, config.transposed);
}

// Whether they are: where a tile has all tokens, and enough stages of the busiest block gain by it.
inline bool regroups(const WgmmaConfig& config, const StagePlan& plan) {
  const int enough = config.tokens == 32 ? 8 : 11;
  return can_regroup(config) && plan.token_groups == 1 && stages_of(plan) >= enough;
}

// Where the parts of the workspace begin, in bytes: counters, then sums, then regrouped
// activations.
struct WgmmaWorkspace {
  int tile_counters;  // behind which is that of the regrouped activations
  std::int64_t sums;
  std::int64_t tokens;
  std::int64_t bytes;  // on any device, some of which have fewer multiprocessors and so more stages

  WgmmaWorkspace(const WgmmaConfig& config, const Problem& problem)
      : tile_counters(kMostGridBlocks * config.groups),
        sums(block_count((std::int64_t{tile_counters} + 1) * 8, 256) * 256),
        tokens(sums + std::int64_t{kMostGridBlocks} * 2 * config.rows() * config.tokens * 4),
        bytes(tokens) {
    const std::int64_t quarters = block_count(problem.inputs, 256) * 4;
    if (can_regroup(config) && problem.tokens <= config.tokens)
      bytes += quarters * config.tokens * 128;
  }
};

}  // namespace nf4bench::kernels::cuda
