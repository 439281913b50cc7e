#pragma once

// The parts of a StagePlan that each block does, and the blocks that share a tile.

#include "cuda/matmul/schedule/quotient.cuh"
#include "cuda/matmul/schedule/stage_plan.hpp"

namespace nf4bench::kernels::cuda {

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

// Which of the groups of rows a tile has, and which of the groups of tokens. All rows of a band of
// tokens come before the next band's: blocks that multiply at a time share as many activations as
// weights, which stay in the cache.
struct TilePlace {
  int rows = 0;
  int tokens = 0;

  TilePlace() = default;
  __host__ __device__ TilePlace(const StagePlan& plan, int tile) : rows(tile) {
    if (plan.token_groups == 1) return;  // most have one, and a division takes long
    int band_groups = plan.token_groups;
    if (band_groups > kBandGroups) {
      const int band_tiles = (plan.whole + plan.split) / plan.token_groups * kBandGroups;
      const int band = tile / band_tiles;
      tile -= band * band_tiles;
      tokens = band * kBandGroups;
      band_groups = min(kBandGroups, plan.token_groups - tokens);
    }
    rows = tile / band_groups;
    tokens += tile - rows * band_groups;
  }

 private:
  static constexpr int kBandGroups = 8;
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

// The same, as producers walk it.
template <int kTileRows, int kTileTokens>
class PlannedStages {
 public:
  __host__ __device__ PlannedStages(const StagePlan& plan, int block)
      : plan_(plan), walk_(plan, block) {}

  __host__ __device__ bool valid() const { return walk_.tile.valid(); }
  __host__ __device__ int stage() const { return walk_.stage; }
  __host__ __device__ bool begins_tile() const { return walk_.stage == walk_.tile.begin; }
  __host__ __device__ int expert() const { return 0; }  // of a stack of one
  __host__ __device__ int row_of_matrix() const { return first_row(); }
  __host__ __device__ int first_row() const { return walk_.place.rows * kTileRows; }
  __host__ __device__ int row_at(int row) const { return first_row() + row; }
  __host__ __device__ static constexpr int step_of(int rows) { return rows; }
  __host__ __device__ static constexpr bool alternates() { return false; }
  __host__ __device__ int first_token() const { return walk_.place.tokens * kTileTokens; }
  // Up to which one of all `tokens` a tile may have some.
  __host__ __device__ int tokens_end(int tokens) const { return tokens; }
  __host__ __device__ void advance() { walk_.advance(plan_); }

 private:
  const StagePlan& plan_;
  StageWalk walk_;
};

}  // namespace nf4bench::kernels::cuda
