#pragma once

// Which tiles a grouped product has, in shared memory, and how a block walks them. The slots of an
// expert are its rows, in order; a tile is some of them times some rows of its matrix. Tiles are
// counted expert by expert, and those of the same rows of a matrix are neighbours, so that blocks
// that read these at the same time find them in L2.

#include "cuda/matmul/experts/grouped_plan.hpp"
#include "cuda/ptx.cuh"
#include "routing.hpp"

namespace nf4bench::kernels::cuda {

// Both have an entry more than there are experts: the end of the last one's.
struct ExpertTables {
  int* rows;   // where an expert's begin among those of all
  int* tiles;  // where its tiles of rows begin, for one group of rows of the matrix
};

// Counts the rows of experts whose ends are given, into tables.rows; one that ends before it begins
// has none, and no end lies behind `slots`. By one warp.
__device__ __forceinline__ void count_by_ends(const Job& job, const ExpertTables& tables,
                                              int slots) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  const auto experts = static_cast<int>(job.group.experts);
  int end_before = 0;
  for (int first = 0; first < experts; first += 32) {
    const int expert = first + lane;
    const std::int64_t id = expert < experts ? id_at(job, expert) : 0;
    const int end = id < 0 ? 0 : id > slots ? slots : static_cast<int>(id);
    int end_until = max(end, end_before);
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
      const int other = __shfl_up_sync(0xffffffffu, end_until, step);
      if (lane >= step) end_until = max(end_until, other);
    }
    const int before = __shfl_up_sync(0xffffffffu, end_until, 1);
    if (expert < experts) tables.rows[expert] = end_until - (lane == 0 ? end_before : before);
    end_before = __shfl_sync(0xffffffffu, end_until, 31);
  }
}

// Turns counts of rows, in tables.rows, into where they begin. By one warp, each lane of which has
// some neighbouring experts.
__device__ __forceinline__ void begin_experts(const ExpertTables& tables, int experts,
                                              int tile_rows) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  const int share = (experts + 31) / 32;
  const int first = min(lane * share, experts);
  const int last = min(first + share, experts);
  const auto tiles_of = [&](int rows) { return (rows + tile_rows - 1) / tile_rows; };
  int rows = 0;
  int tiles = 0;
  for (int expert = first; expert < last; ++expert) {
    rows += tables.rows[expert];
    tiles += tiles_of(tables.rows[expert]);
  }
  const int own_rows = rows;
  const int own_tiles = tiles;
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    const int more_rows = __shfl_up_sync(0xffffffffu, rows, step);
    const int more_tiles = __shfl_up_sync(0xffffffffu, tiles, step);
    if (lane >= step) {
      rows += more_rows;
      tiles += more_tiles;
    }
  }
  if (lane == 31) {
    tables.rows[experts] = rows;
    tables.tiles[experts] = tiles;
  }
  rows -= own_rows;
  tiles -= own_tiles;
  for (int expert = first; expert < last; ++expert) {
    const int count = tables.rows[expert];
    tables.rows[expert] = rows;
    tables.tiles[expert] = tiles;
    rows += count;
    tiles += tiles_of(count);
  }
}

// A block's tiles, stage by stage. With kByLanes whole warps walk together, and each lane looks up
// a tile: one after the other they would take as long as a stage each. It takes some registers.
template <bool kByLanes>
class ExpertWalk {
 public:
  __device__ __forceinline__ ExpertWalk(const GroupedPlan& plan, const ExpertTables& tables)
      : plan_(plan),
        tables_(tables),
        index_(static_cast<int>(blockIdx.x)),
        end_(tables.tiles[plan.experts] * plan.row_groups) {
    enter_tile();
  }

  __device__ __forceinline__ bool valid() const { return index_ < end_; }
  __device__ __forceinline__ int stage() const { return stage_; }
  __device__ __forceinline__ bool begins_tile() const { return stage_ == 0; }
  __device__ __forceinline__ int expert() const { return tile_.expert; }
  // Of the rows of the expert's matrix, and of those of the whole stack.
  __device__ __forceinline__ int row_of_matrix() const { return tile_.row; }
  __device__ __forceinline__ int first_row() const {
    return tile_.expert * plan_.outputs + tile_.row;
  }
  // Of the stack, the row-th of the tile.
  __device__ __forceinline__ int row_at(int row) const {
    if (!plan_.alternates()) return first_row() + row;
    return tile_.expert * plan_.outputs + (tile_.row + row) / 2 + row % 2 * plan_.columns;
  }
  // Rows of the stack between two of the tile that are so many apart, an even number.
  __device__ __forceinline__ int step_of(int rows) const {
    return plan_.alternates() ? rows / 2 : rows;
  }
  __device__ __forceinline__ bool alternates() const { return plan_.alternates(); }
  // Of the slots, among those of all, sorted by expert.
  __device__ __forceinline__ int first_slot() const { return tile_.first_slot; }
  // The same in words of gathered rows.
  __device__ __forceinline__ int first_token() const { return first_slot(); }
  __device__ __forceinline__ int tokens_end(int) const { return first_slot() + slots(); }
  __device__ __forceinline__ int slots() const { return tile_.slots; }

  __device__ __forceinline__ void advance() {
    if (++stage_ == plan_.stages) advance_tile();
  }
  __device__ __forceinline__ void advance_tile() {
    index_ += static_cast<int>(gridDim.x);
    enter_tile();
  }

 private:
  struct Tile {
    int expert;
    int row;  // of its matrix
    int first_slot;
    int slots;
  };

  __device__ __forceinline__ void enter_tile() {
    constexpr int kLanes = 32;
    stage_ = 0;
    if (!valid()) return;
    if constexpr (!kByLanes) {
      tile_ = look_up(index_);
      return;
    }
    if (turn_ == kLanes) {
      const int lane = static_cast<int>(threadIdx.x % kLanes);
      found_ = look_up(index_ + lane * static_cast<int>(gridDim.x));
      turn_ = 0;
    }
    const auto of_turn = [&](int value) { return __shfl_sync(0xffffffffu, value, turn_); };
    tile_ = {of_turn(found_.expert), of_turn(found_.row), of_turn(found_.first_slot),
             of_turn(found_.slots)};
    ++turn_;
  }

  // Beyond the last tile what it says means nothing.
  __device__ __forceinline__ Tile look_up(int index) const {
    const int tile = index / plan_.row_groups;
    int first = 0;  // the last expert whose tiles begin no later
    int last = plan_.experts - 1;
    while (first < last) {
      const int middle = (first + last + 1) / 2;
      if (tables_.tiles[middle] <= tile) {
        first = middle;
      } else {
        last = middle - 1;
      }
    }
    const int begin = tables_.tiles[first];
    const int tiles = max(tables_.tiles[first + 1] - begin, 1);
    const int within = index - begin * plan_.row_groups;
    const int group = within / tiles;
    const int first_slot = tables_.rows[first] + (within - group * tiles) * plan_.tile_slots;
    return {first, group * plan_.tile_outputs, first_slot,
            min(tables_.rows[first + 1] - first_slot, plan_.tile_slots)};
  }

  const GroupedPlan& plan_;
  ExpertTables tables_;
  int index_;
  int end_;
  int stage_ = 0;
  Tile tile_ = {};   // this one
  Tile found_ = {};  // the lane's
  int turn_ = 32;    // the lane whose tile is next
};

}  // namespace nf4bench::kernels::cuda
