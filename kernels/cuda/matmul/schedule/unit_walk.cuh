#pragma once

// How a block of the integer kernels walks through its part of a UnitPlan.

#include "cuda/matmul/layout.cuh"
#include "cuda/matmul/schedule/quotient.cuh"
#include "cuda/matmul/schedule/unit_plan.hpp"

namespace nf4bench::kernels::cuda {

// Where every block loads all activations, they are asked for before more than kEarlySlots boxes
// are: they have to wait for what is under way already, and all else for them. Before Hopper it
// costs registers that are not there.
inline constexpr int kEarlySlots = 1;
#if __CUDA_ARCH__ >= 900
inline constexpr bool kActivationsFirst = true;
#else
inline constexpr bool kActivationsFirst = false;
#endif

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
