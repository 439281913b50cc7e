#pragma once

// How the integer kernels cut a product. The weight is cut into tiles of 16 rows, and a block does
// every gridDim.x-th of them. Rows are cut into slices, of which all tiles are done before the next
// one, and a tile's slice into units of a few boxes side by side, which the warps take in turn.
// Plain host code.

#include "cuda/matmul/boxes.hpp"
#include "cuda/matmul/grid.hpp"
#include "cuda/shared_bytes.hpp"
#include "problem.hpp"

#include <initializer_list>

namespace nf4bench::kernels::cuda {

inline constexpr int kUnitWarps = 16;  // of a block
inline constexpr int kUnitThreads = kUnitWarps * 32;
inline constexpr int kUnitSlots = 2;  // boxes that a warp's ring holds

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

struct PlannedUnits {
  UnitPlan plan;
  int unit_boxes = 0;
  Grid grid;
};

inline int count_of(std::int64_t count, std::int64_t per_part) {
  return static_cast<int>(block_count(count, per_part));
}

struct UnitLimits {
  int slices;
  int unit_boxes;
  int busier;  // percent of boxes that the busiest warp may have more for the sake of larger units
  int copies = 1;  // of each tile that its block does, with weights of their own
};

// Boxes a unit, 4, 2 or 1: as many as the limits allow, for units of fewer boxes spend more on
// their scales and sums.
inline int choose_unit_boxes(int tiles_a_block, int boxes, const UnitLimits& most) {
  const auto boxes_of_busiest_warp = [&](int unit) {
    return count_of(std::int64_t{tiles_a_block} * count_of(boxes, unit), kUnitWarps) * unit;
  };
  const int best = boxes_of_busiest_warp(1);
  for (const int unit : {4, 2}) {
    if (unit <= most.unit_boxes &&
        boxes_of_busiest_warp(unit) * 100 <= best * (100 + most.busier)) {
      return unit;
    }
  }
  return 1;
}

// As few slices as let a block's shared memory suffice, within `most`, and more blocks than
// multiprocessors only where even that is not enough. `bytes(boxes of a slice, units of a block)`
// says how much a block needs. Where nothing suffices, the grid's shared_bytes are too many.
template <class Bytes>
PlannedUnits plan_units(const Problem& problem, const DeviceFacts& device, UnitLimits most,
                        Bytes bytes) {
  PlannedUnits result;
  UnitPlan& plan = result.plan;
  plan.tiles = count_of(problem.outputs, kBoxRows);
  plan.boxes = count_of(problem.inputs, kBoxColumns);
  if (most.slices > plan.boxes) most.slices = plan.boxes;
  for (int blocks = device.multiprocessors;; blocks += device.multiprocessors) {
    const int grid = plan.tiles < blocks ? plan.tiles : blocks;
    const int tiles_a_block = count_of(plan.tiles, grid);
    const int copies_a_block = tiles_a_block * most.copies;
    plan.block_tiles = plan.tiles / grid;
    plan.extra_tiles = plan.tiles % grid;
    for (int slices = 1; slices <= most.slices; ++slices) {
      plan.slice_boxes = count_of(plan.boxes, slices);
      result.unit_boxes = choose_unit_boxes(copies_a_block, plan.slice_boxes, most);
      if (slices > 1) {  // all begin with a whole unit, whose scales are loaded together
        plan.slice_boxes = count_of(plan.slice_boxes, result.unit_boxes) * result.unit_boxes;
      }
      plan.slices = count_of(plan.boxes, plan.slice_boxes);
      plan.units = count_of(plan.slice_boxes, result.unit_boxes);
      plan.tile_step = kUnitWarps / plan.units;
      plan.unit_step = kUnitWarps % plan.units;
      plan.one_by_units = 1.0f / static_cast<float>(plan.units);
      result.grid = {
          static_cast<unsigned>(grid), kUnitThreads,
          static_cast<std::size_t>(bytes(plan.slice_boxes, copies_a_block * plan.units))};
      if (result.grid.shared_bytes <= shared_bytes_a_block(device)) return result;
    }
    if (tiles_a_block == 1) return result;
  }
}

}  // namespace nf4bench::kernels::cuda
