#pragma once

// How wgmma_decode and mma_table cut a product. A tile is some rows of the weight times a group of
// tokens, and a stage some inputs of it. Each block does whole tiles as long as all blocks have
// one, and the remaining tiles are split, unless that costs more than it saves: their stages, laid
// end to end, evenly over all blocks; or each tile evenly over a team of blocks of its own.

#include <cstdint>

namespace nf4bench::kernels::cuda {

struct StagePlan {
  int blocks = 0;           // of the grid
  int stages = 0;           // of a tile
  int token_groups = 0;     // tile i: rows i / token_groups, tokens i % token_groups
  int whole = 0;            // tiles that are not split
  int split = 0;            // tiles that are
  int share = 0;            // stages of the split tiles that each block does,
  int extra = 0;            // and the first `extra` blocks one more
  int team = 0;             // or: blocks that each tile is split over
  bool is_cluster = false;  // teams are clusters
};

// What it costs to add up the parts of split tiles, in stages.
struct JoinStages {
  int grid = 0;     // that any blocks share
  int cluster = 0;  // that a cluster shares
  int second = 0;   // more, where blocks have parts of two tiles
};

// `team` blocks a tile, not more than it has stages.
inline StagePlan plan_teams(int tiles, int stages, int team, bool is_cluster) {
  StagePlan plan;
  plan.blocks = tiles * team;
  plan.stages = stages;
  plan.split = tiles;
  plan.team = team;
  plan.is_cluster = is_cluster;
  return plan;
}

// The stages that the busiest block does, and what joining costs.
inline int stages_of(const StagePlan& plan, const JoinStages& join) {
  if (plan.team > 0) {
    return (plan.stages + plan.team - 1) / plan.team + (plan.is_cluster ? join.cluster : join.grid);
  }
  const int whole = (plan.whole + plan.blocks - 1) / plan.blocks * plan.stages;
  if (plan.split == 0) return whole;
  const int second = whole == 0 ? join.second : 0;
  return whole + plan.share + (plan.extra > 0 ? 1 : 0) + join.grid + second;
}

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
  const int team = most_blocks / tiles < stages ? most_blocks / tiles : stages;
  if (team < 2) return plan;
  const StagePlan teams = plan_teams(tiles, stages, team, false);
  return stages_of(teams, join) <= stages_of(plan, join) ? teams : plan;
}

// Where in the split stages the part of `block` begins; it ends where the next one's begins.
__host__ __device__ inline int split_begin(const StagePlan& plan, int block) {
  if (plan.team > 0) {
    return block / plan.team * plan.stages + block % plan.team * plan.stages / plan.team;
  }
  return block * plan.share + min(block, plan.extra);
}

// The block that does a stage of the split ones.
__host__ __device__ inline int block_of_split(const StagePlan& plan, int stage) {
  if (plan.team > 0) {
    const int in_tile = stage % plan.stages;
    return stage / plan.stages * plan.team + ((in_tile + 1) * plan.team - 1) / plan.stages;
  }
  const int of_larger = plan.extra * (plan.share + 1);
  return stage < of_larger ? stage / (plan.share + 1)
                           : plan.extra + (stage - of_larger) / plan.share;
}

// The parts of tiles that one block does, in order.
struct TileWalk {
  int tile;
  int begin;  // stages
  int end;

  __host__ __device__ TileWalk(const StagePlan& plan, int block)
      : tile(block),
        begin(0),
        end(plan.stages),
        rest_(split_begin(plan, block)),
        rest_end_(split_begin(plan, block + 1)) {
    if (tile >= plan.whole) enter_rest(plan);
  }

  __host__ __device__ bool valid() const { return begin < end; }

  __host__ __device__ bool is_whole(const StagePlan& plan) const {
    return begin == 0 && end == plan.stages;
  }

  __host__ __device__ void advance(const StagePlan& plan) {
    tile += plan.blocks;
    if (tile >= plan.whole) enter_rest(plan);
  }

 private:
  // To the next part of the split tiles; an empty one when there is none.
  __host__ __device__ void enter_rest(const StagePlan& plan) {
    const int index = rest_ / plan.stages;
    tile = plan.whole + index;
    begin = rest_ - index * plan.stages;
    end = min(plan.stages, begin + rest_end_ - rest_);
    rest_ += end - begin;
  }

  int rest_;
  int rest_end_;
};

// The same, stage by stage.
struct StageWalk {
  TileWalk tile;
  int stage;

  __host__ __device__ StageWalk(const StagePlan& plan, int block)
      : tile(plan, block), stage(tile.begin) {}

  __host__ __device__ void advance(const StagePlan& plan) {
    if (++stage < tile.end) return;
    tile.advance(plan);
    stage = tile.begin;
  }
};

}  // namespace nf4bench::kernels::cuda
