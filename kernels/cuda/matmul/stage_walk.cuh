#pragma once

// How wgmma_decode and mma_table cut a product. A tile is some rows of the weight times a group of
// tokens, and a stage some inputs of it. Each block does whole tiles as long as all blocks have
// one, and the remaining tiles are split, unless that costs more than it saves: their stages, laid
// end to end, evenly over all blocks; or each tile evenly over a team of blocks of its own.

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
  int team = 0;              // blocks that each tile is split over; 0: there are no teams
  float one_by_team = 0.0f;  // 1 / team
  bool is_cluster = false;   // teams are clusters
};

// What it costs to add up the parts of split tiles, in stages.
struct JoinStages {
  int grid = 0;     // that any blocks share
  int cluster = 0;  // that a cluster shares
};

// `team` blocks a tile, not more than it has stages.
inline StagePlan plan_teams(int tiles, int stages, int team, bool is_cluster) {
  StagePlan plan;
  plan.blocks = tiles * team;
  plan.stages = stages;
  plan.split = tiles;
  plan.share = stages / team;
  plan.extra = stages % team;
  plan.team = team;
  plan.one_by_team = 1.0f / static_cast<float>(team);
  plan.is_cluster = is_cluster;
  return plan;
}

// A block of a team, found without a division, which everything would wait for.
struct TeamMember {
  int tile;
  int place;

  __host__ __device__ TeamMember(const StagePlan& plan, int block)
      : tile(static_cast<int>((static_cast<float>(block) + 0.5f) * plan.one_by_team)),
        place(block - tile * plan.team) {}
};

// The stages that the busiest block does, and what joining costs.
inline int stages_of(const StagePlan& plan, const JoinStages& join) {
  const int whole = (plan.whole + plan.blocks - 1) / plan.blocks * plan.stages;
  if (plan.split == 0) return whole;
  const int part = plan.share + (plan.extra > 0 ? 1 : 0);
  return whole + part + (plan.is_cluster ? join.cluster : join.grid);
}

// `tiles` tiles of `stages` stages for at most `most_blocks` blocks, without clusters.
inline StagePlan plan_tiles(int tiles, int stages, int most_blocks, const JoinStages& join) {
  StagePlan plan;
  plan.stages = stages;
  const int waves = tiles / most_blocks;
  const int rest = tiles - waves * most_blocks;
  if (rest == 0 || stages <= (rest * stages + most_blocks - 1) / most_blocks + join.grid) {
    plan.blocks = tiles < most_blocks ? tiles : most_blocks;
    plan.whole = tiles;
    return plan;
  }
  const std::int64_t all = std::int64_t{tiles} * stages;
  plan.blocks = all < most_blocks ? static_cast<int>(all) : most_blocks;
  plan.whole = waves * most_blocks;
  plan.split = rest;
  plan.share = rest * stages / plan.blocks;
  plan.extra = rest * stages % plan.blocks;
  // A block with parts of two tiles would leave sums twice.
  const int team = most_blocks / tiles < stages ? most_blocks / tiles : stages;
  if (team < 2) return plan;
  const StagePlan teams = plan_teams(tiles, stages, team, false);
  return stages_of(teams, join) <= stages_of(plan, join) ? teams : plan;
}

// Where in the split stages, or in those of its own tile, the part of a block begins; it ends where
// the next one's begins.
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
    if (plan.team > 0) {
      const TeamMember member(plan, block);
      tile = member.tile;
      begin = split_begin(plan, member.place);
      end = split_begin(plan, member.place + 1);
    } else if (tile >= plan.whole) {
      enter_split(plan, split_begin(plan, block));
    }
  }

  __host__ __device__ bool valid() const { return begin < end; }

  __host__ __device__ bool is_whole(const StagePlan& plan) const {
    return begin == 0 && end == plan.stages;
  }

  __host__ __device__ void advance(const StagePlan& plan) {
    if (tile >= plan.whole) {
      enter_split(plan, (tile - plan.whole) * plan.stages + end);
    } else {
      tile += plan.blocks;
      if (tile >= plan.whole) enter_split(plan, split_begin(plan, block_));
    }
  }

 private:
  // To the part that begins at `stage` of the split ones; an empty one where the block's end. A
  // block of a team has had its only one.
  __host__ __device__ void enter_split(const StagePlan& plan, int stage) {
    const int index = stage / plan.stages;
    tile = plan.whole + index;
    begin = stage - index * plan.stages;
    end = plan.team > 0 ? begin : min(plan.stages, begin + split_begin(plan, block_ + 1) - stage);
  }

  int block_;
};

// The same, stage by stage.
struct StageWalk {
  TileWalk tile;
  int stage;
  int rows;    // which of the groups of rows the tile has,
  int tokens;  // and which of the groups of tokens

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
    rows = tile.tile / plan.token_groups;
    tokens = tile.tile - rows * plan.token_groups;
  }
};

}  // namespace nf4bench::kernels::cuda
