#pragma once

// How wgmma_decode and mma_table cut a product. A tile is some rows of the weight times a group of
// tokens, and a stage some inputs of it. Tiles are whole as far as each block has one. Those that
// remain are whole as well; or each is split evenly over a team of blocks of its own; or their
// stages, laid end to end, are spread evenly over all blocks.

#include "cuda/matmul/quotient.cuh"

#include <algorithm>
#include <cstdint>

namespace nf4bench::kernels::cuda {

struct StagePlan {
  int blocks = 0;            // of the grid
  int stages = 0;            // of a tile
  int token_groups = 1;      // tile i: rows i / token_groups, tokens i % token_groups
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

// A block of a team. Where teams are fewer than blocks, the last blocks have a split tile that does
// not exist.
struct TeamMember {
  int tile;
  int place;

  __host__ __device__ TeamMember(const StagePlan& plan, int block)
      : tile(quotient(block, plan.one_by_team)), place(block - tile * plan.team) {
    tile += plan.whole;
  }
};

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

// Where in the split stages the part of a block begins, or in those of its tile the part of a
// member of a team; it ends where the next one's begins.
__host__ __device__ inline int split_begin(const StagePlan& plan, int block) {
  return block * plan.share + min(block, plan.extra);
}

// The blocks that share a split tile, which are neighbours.
struct TileBlocks {
  int first;
  int count;
  bool first_has_another;  // the first has a part of the tile before, too

  __host__ __device__ TileBlocks(const StagePlan& plan, int split_tile) {
    if (plan.team > 0) {
      first = split_tile * plan.team;
      count = plan.team;
      first_has_another = false;
      return;
    }
    const int begin = split_tile * plan.stages;
    first = block_of(plan, begin);
    count = block_of(plan, begin + plan.stages - 1) - first + 1;
    first_has_another = split_begin(plan, first) < begin;
  }

 private:
  // The block that does a stage of the split ones.
  __host__ __device__ static int block_of(const StagePlan& plan, int stage) {
    const int of_larger = plan.extra * (plan.share + 1);
    return stage < of_larger ? stage / (plan.share + 1)
                             : plan.extra + (stage - of_larger) / plan.share;
  }
};

// The parts of tiles that one block does, in order.
struct TileWalk {
  int tile;
  int begin = 0;  // stages
  int end;

  __host__ __device__ TileWalk(const StagePlan& plan, int block)
      : tile(block), end(plan.stages), block_(block) {
    if (tile >= plan.whole) enter_rest(plan);
  }

  __host__ __device__ bool valid() const { return begin < end; }

  __host__ __device__ bool is_whole(const StagePlan& plan) const {
    return begin == 0 && end == plan.stages;
  }

  __host__ __device__ void advance(const StagePlan& plan) {
    if (tile < plan.whole) {
      tile += plan.blocks;
      if (tile >= plan.whole) enter_rest(plan);
    } else if (plan.team > 0) {
      begin = end;
    } else {
      enter_split(plan, (tile - plan.whole) * plan.stages + end);
    }
  }

 private:
  // To the block's first part of a split tile, if it has one.
  __host__ __device__ void enter_rest(const StagePlan& plan) {
    if (plan.team == 0) return enter_split(plan, split_begin(plan, block_));
    const TeamMember member(plan, block_);
    tile = member.tile;
    begin = split_begin(plan, member.place);
    end = tile < plan.whole + plan.split ? split_begin(plan, member.place + 1) : begin;
  }

  // To the part that begins at `stage` of the split ones; an empty one where the block's end.
  __host__ __device__ void enter_split(const StagePlan& plan, int stage) {
    const int index = stage / plan.stages;
    tile = plan.whole + index;
    begin = stage - index * plan.stages;
    end = min(plan.stages, begin + split_begin(plan, block_ + 1) - stage);
  }

  int block_;
};

// Which of the groups of rows a tile has, and which of the groups of tokens.
struct TilePlace {
  int rows = 0;
  int tokens = 0;

  TilePlace() = default;
  __host__ __device__ TilePlace(const StagePlan& plan, int tile) : rows(tile) {
    if (plan.token_groups == 1) return;  // most have one, and a division takes long
    rows = tile / plan.token_groups;
    tokens = tile - rows * plan.token_groups;
  }
};

// The same, stage by stage.
struct StageWalk {
  TileWalk tile;
  int stage;
  TilePlace place;

  __host__ __device__ StageWalk(const StagePlan& plan, int block) : tile(plan, block) {
    enter_tile(plan);
  }

  __host__ __device__ void advance(const StagePlan& plan) {
    if (++stage < tile.end) return;
    tile.advance(plan);
    enter_tile(plan);
  }

 private:
  __host__ __device__ void enter_tile(const StagePlan& plan) {
    stage = tile.begin;
    place = TilePlace(plan, tile.tile);
  }
};

}  // namespace nf4bench::kernels::cuda
