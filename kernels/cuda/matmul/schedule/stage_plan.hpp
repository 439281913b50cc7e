#pragma once

// How wgmma_decode and mma_table cut a product. A tile is some rows of the weight times a group of
// tokens, and a stage some inputs of it. Tiles are whole as far as each block has one. Those that
// remain are whole as well; or each is split evenly over a team of blocks of its own; or their
// stages, laid end to end, are spread evenly over all blocks.

#include <algorithm>
#include <cstdint>

namespace nf4bench::kernels::cuda {

struct StagePlan {
  int blocks = 0;            // of the grid
  int stages = 0;            // of a tile
  int token_groups = 1;      // of tiles; TilePlace says which tile has which
  int whole = 0;             // tiles that are not split
  int split = 0;             // tiles that are
  int share = 0;             // stages of the split tiles that each block does, or of its own tile,
  int extra = 0;             // and the first `extra` blocks, or those of the team, one more
  int team = 0;              // blocks that each of these is split over; 0: there are no teams
  float one_by_team = 0.0f;  // 1 / team
  bool is_cluster = false;   // teams are clusters
};

// What a plan takes, in any unit of time: each block that runs beside others, a stage, and adding
// up the parts of split tiles.
struct StageCosts {
  int block = 0;
  int stage = 1;
  int spread = 0;   // parts of blocks that may have those of two tiles
  int team = 0;     // of blocks that have that of one
  int pair = 0;     // of a team that is a cluster of two,
  int cluster = 0;  // or of more
};

// Whole tiles only.
inline StagePlan plan_whole(int tiles, int stages, int most_blocks) {
  StagePlan plan;
  plan.blocks = tiles < most_blocks ? tiles : most_blocks;
  plan.stages = stages;
  plan.whole = tiles;
  return plan;
}

// What whole tiles leave over is spread over all blocks.
inline StagePlan plan_spread(int tiles, int stages, int most_blocks) {
  const std::int64_t all = std::int64_t{tiles} * stages;
  StagePlan plan;
  plan.blocks = all < most_blocks ? static_cast<int>(all) : most_blocks;
  plan.stages = stages;
  plan.split = tiles % most_blocks;
  plan.whole = tiles - plan.split;
  plan.share = plan.split * stages / plan.blocks;
  plan.extra = plan.split * stages % plan.blocks;
  return plan;
}

// What whole tiles leave over is split over a team of blocks each, not more than a tile has stages.
inline StagePlan plan_teams(int tiles, int stages, int most_blocks, int team) {
  StagePlan plan;
  plan.stages = stages;
  plan.split = tiles % most_blocks;
  plan.whole = tiles - plan.split;
  plan.blocks = plan.whole > 0 ? most_blocks : plan.split * team;
  plan.share = stages / team;
  plan.extra = stages % team;
  plan.team = team;
  plan.one_by_team = 1.0f / static_cast<float>(team);
  return plan;
}

// Each tile is split over a cluster of blocks, not more than it has stages.
inline StagePlan plan_clusters(int tiles, int stages, int cluster) {
  StagePlan plan = plan_teams(tiles, stages, tiles + 1, cluster);  // none is whole
  plan.is_cluster = true;
  return plan;
}

// Of the busiest block.
inline std::int64_t stages_of(const StagePlan& plan) {
  const std::int64_t whole = (plan.whole + plan.blocks - 1) / plan.blocks;
  const int split = plan.split > 0 ? plan.share + (plan.extra > 0 ? 1 : 0) : 0;
  return whole * plan.stages + split;
}

// The time that the busiest block takes.
inline std::int64_t time_of(const StagePlan& plan, const StageCosts& costs) {
  std::int64_t join = 0;
  if (plan.split > 0) {
    join = plan.team == 0     ? costs.spread
           : !plan.is_cluster ? costs.team
           : plan.team == 2   ? costs.pair
                              : costs.cluster;
  }
  return std::int64_t{plan.blocks} * costs.block + stages_of(plan) * costs.stage + join;
}

// `first` where both take the same time.
inline StagePlan faster_plan(const StagePlan& first, const StagePlan& second,
                             const StageCosts& costs) {
  return time_of(second, costs) < time_of(first, costs) ? second : first;
}

// Blocks that share a tile wait for each other, and the blocks of a product find room in their
// order. So those of one tile may wait for some that have found none: of each product that runs,
// and of each of six priorities that streams have one at a time. With no more than a sixth of the
// blocks a tile there is still room for one of these products to go on.
inline constexpr int kMostPriorities = 6;

// `tiles` tiles of `stages` stages for at most `most_blocks` blocks, without clusters.
inline StagePlan plan_tiles(int tiles, int stages, int most_blocks, const StageCosts& costs) {
  const StagePlan whole = plan_whole(tiles, stages, most_blocks);
  const int rest = tiles % most_blocks;
  if (rest == 0) return whole;
  StagePlan plan = whole;
  const int team = std::min({most_blocks / rest, stages, most_blocks / kMostPriorities});
  if (team > 1) plan = faster_plan(plan, plan_teams(tiles, stages, most_blocks, team), costs);
  if (rest <= kMostPriorities) return plan;
  return faster_plan(plan, plan_spread(tiles, stages, most_blocks), costs);
}

}  // namespace nf4bench::kernels::cuda
