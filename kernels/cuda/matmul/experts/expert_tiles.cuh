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

// Turns counts of rows, in tables.rows, into where they begin. By one warp.
__device__ __forceinline__ void begin_experts(const ExpertTables& tables, int experts,
                                              int tile_rows) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  int rows_before = 0;
  int tiles_before = 0;
  for (int first = 0; first < experts; first += 32) {
    const int expert = first + lane;
    const int rows = expert < experts ? tables.rows[expert] : 0;
    const int tiles = (rows + tile_rows - 1) / tile_rows;
    int rows_until = rows;
    int tiles_until = tiles;
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
      const int more_rows = __shfl_up_sync(0xffffffffu, rows_until, step);
      const int more_tiles = __shfl_up_sync(0xffffffffu, tiles_until, step);
      if (lane >= step) {
        rows_until += more_rows;
        tiles_until += more_tiles;
      }
    }
    if (expert < experts) {
      tables.rows[expert] = rows_before + rows_until - rows;
      tables.tiles[expert] = tiles_before + tiles_until - tiles;
    }
    rows_before += __shfl_sync(0xffffffffu, rows_until, 31);
    tiles_before += __shfl_sync(0xffffffffu, tiles_until, 31);
  }
  if (lane == 0) {
    tables.rows[experts] = rows_before;
    tables.tiles[experts] = tiles_before;
  }
}

// A block's tiles, stage by stage.
class ExpertWalk {
 public:
  __device__ __forceinline__ ExpertWalk(const GroupedPlan& plan, const ExpertTables& tables)
      : plan_(plan), tables_(tables), index_(static_cast<int>(blockIdx.x)) {
    enter_tile();
  }

  __device__ __forceinline__ bool valid() const { return index_ < end_; }
  __device__ __forceinline__ int stage() const { return stage_; }
  __device__ __forceinline__ bool begins_tile() const { return stage_ == 0; }
  __device__ __forceinline__ int expert() const { return expert_; }
  // Of the expert's matrix, and of the whole stack.
  __device__ __forceinline__ int row_of_matrix() const { return row_; }
  __device__ __forceinline__ int first_row() const { return expert_ * plan_.outputs + row_; }
  // Of the slots, among those of the expert and among those of all.
  __device__ __forceinline__ int slot_of_expert() const { return tile_ * plan_.tile_slots; }
  __device__ __forceinline__ int first_slot() const {
    return tables_.rows[expert_] + slot_of_expert();
  }
  // The same in words of gathered rows.
  __device__ __forceinline__ int first_token() const { return first_slot(); }
  __device__ __forceinline__ int tokens_end(int) const { return first_slot() + slots(); }
  __device__ __forceinline__ int slots() const {
    const int left = tables_.rows[expert_ + 1] - first_slot();
    return min(left, plan_.tile_slots);
  }

  __device__ __forceinline__ void advance() {
    if (++stage_ == plan_.stages) advance_tile();
  }
  __device__ __forceinline__ void advance_tile() {
    index_ += static_cast<int>(gridDim.x);
    enter_tile();
  }

 private:
  __device__ __forceinline__ void enter_tile() {
    stage_ = 0;
    end_ = tables_.tiles[plan_.experts] * plan_.row_groups;
    if (!valid()) return;
    const int tile = index_ / plan_.row_groups;
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
    expert_ = first;
    const int begin = tables_.tiles[expert_];
    const int tiles = tables_.tiles[expert_ + 1] - begin;
    const int within = index_ - begin * plan_.row_groups;
    const int group = within / tiles;
    tile_ = within - group * tiles;
    row_ = group * plan_.tile_outputs;
  }

  const GroupedPlan& plan_;
  ExpertTables tables_;
  int index_;
  int end_ = 0;
  int expert_ = 0;
  int row_ = 0;
  int tile_ = 0;
  int stage_ = 0;
};

}  // namespace nf4bench::kernels::cuda
