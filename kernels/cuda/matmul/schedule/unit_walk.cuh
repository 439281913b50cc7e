#pragma once

// How the integer kernels cut a product. The weight is cut into tiles of 16 rows, and a block does
// every gridDim.x-th of them. Rows are cut into slices, of which all tiles are done before the next
// one, and a tile's slice into units of a few boxes side by side, which the warps take in turn.

#include "cuda/matmul/layout.cuh"
#include "cuda/matmul/schedule/quotient.cuh"

namespace nf4bench::kernels::cuda {

inline constexpr int kUnitWarps = 16;  // of a block
inline constexpr int kUnitThreads = kUnitWarps * 32;
inline constexpr int kUnitSlots = 2;  // boxes that a warp's ring holds

// Where every block loads all activations, they are asked for before more than kEarlySlots boxes
// are: they have to wait for what is under way already, and all else for them. Before Hopper it
// costs registers that are not there.
inline constexpr int kEarlySlots = 1;
#if __CUDA_ARCH__ >= 900
inline constexpr bool kActivationsFirst = true;
#else
inline constexpr bool kActivationsFirst = false;
#endif

struct UnitPlan {
  int tiles = 0;        // of the whole weight
  int boxes = 0;        // of a row; the last may be short
  int slices = 1;       // of a row
  int slice_boxes = 0;  // of a slice; the last slice may be short
  int units = 0;        // of a slice of a row
  int tile_step = 0;    // kUnitWarps / units
  int unit_step = 0;    // kUnitWarps % units
  // What the kernel would have to divide for before it does anything.
  int block_tiles = 0;        // tiles of each block,
  int extra_tiles = 0;        // and the first `extra_tiles` blocks have one more
  float one_by_units = 0.0f;  // 1 / units
};

// Tiles of this block.
__device__ __forceinline__ int own_tiles(const UnitPlan& plan) {
  return plan.block_tiles + (static_cast<int>(blockIdx.x) < plan.extra_tiles ? 1 : 0);
}

__device__ __forceinline__ int first_row(int own_tile) {
  return (static_cast<int>(blockIdx.x) + own_tile * static_cast<int>(gridDim.x)) * kBoxRows;
}

// The units of one warp, in the order in which it does them.
struct UnitWalk {
  int slice = 0;
  int tile;  // of its block's
  int unit;

  __host__ __device__ UnitWalk(int warp, int tiles, const UnitPlan& plan)
      : tile(quotient(warp, plan.one_by_units)), unit(warp - tile * plan.units) {
    if (tile >= tiles) slice = plan.slices;
  }

  __host__ __device__ bool valid(const UnitPlan& plan) const { return slice < plan.slices; }

  // To the next unit of the slice. Is at none where tile is not one of the block's.
  __host__ __device__ void advance(const UnitPlan& plan) {
    tile += plan.tile_step;
    unit += plan.unit_step;
    if (unit >= plan.units) {
      unit -= plan.units;
      ++tile;
    }
  }

  // To the next unit, of the next slice when this one is done.
  __host__ __device__ void advance(int warp, int tiles, const UnitPlan& plan) {
    advance(plan);
    if (tile < tiles) return;
    ++slice;
    tile = quotient(warp, plan.one_by_units);
    unit = warp - tile * plan.units;
  }
};

}  // namespace nf4bench::kernels::cuda
