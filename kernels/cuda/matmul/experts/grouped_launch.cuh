#pragma once

// Launching grouped_wgmma, for the files that are compiled for some of it each.

#include "cuda/dispatch.cuh"
#include "cuda/matmul/experts/combine_slots.hpp"
#include "cuda/matmul/experts/grouped_launch.hpp"
#include "cuda/matmul/experts/grouped_wgmma.cuh"
#include "cuda/matmul/experts/route_slots.hpp"

#include <algorithm>

namespace nf4bench::kernels::cuda {

template <class Shape, OutputType kType, bool kIsRouted>
void launch_grouped_shape(const Job& job, const Launch& launch, const GroupedChoice& choice) {
  constexpr auto kBytes = static_cast<std::size_t>(GroupedShared<Shape, kIsRouted>::kBytes);
  static_assert(kBytes <= (228 << 10) / Shape::kBlocks - 1024);
  const GroupedPlan plan = plan_grouped(job, Shape::kRows, Shape::kTokens, 256);
  const GroupedWorkspace parts(job, choice);
  auto* workspace = static_cast<std::uint8_t*>(job.workspace);
  float* sums = job.group.sums_slots ? reinterpret_cast<float*>(workspace + parts.sums) : nullptr;
  RoutedRows routed;
  if (kIsRouted) routed = launch_route_slots(job, launch, Shape::kTokens, choice.input());
  GatheredRows gathered = {};
  if (!Shape::kWarpProducts) {
    const TensorMatrix rows = {CU_TENSOR_MAP_DATA_TYPE_UINT16, routed.input, job.inputs,
                               slots_of(job), job.inputs * 2};
    gathered = {tensor_map(rows, launch.device, kBoxBytes / 2, Shape::kTokens),
                tensor_map(rows, launch.device, kBoxBytes / 2, kPartSlots)};
  }
  Job stack = job;
  if (!Shape::kTransposed) stack.outputs *= job.group.experts;  // one tall matrix
  const std::int64_t tiles = most_tiles(job, Shape::kTokens) * plan.row_groups;
  const Grid grid = {static_cast<unsigned>(std::min<std::int64_t>(
                         tiles, launch.device.multiprocessors * Shape::kBlocks)),
                     Shape::kThreads, kBytes};
  launch_grid(launch, grid, grouped_wgmma<Shape, kType, kIsRouted>,
              weights_of<Shape>(stack, launch.device, plan.alternates() ? plan.columns : 0),
              gathered, stack, plan, routed, sums, stage_scales(stack));
  if (sums != nullptr) launch_combine_slots(job, launch, sums);
}

template <int kChoice>
void launch_grouped(const Job& job, const Launch& launch) {
  static constexpr GroupedChoice kGrouped = kGroupedChoices[kChoice];
  static constexpr WgmmaConfig kConfig = kGrouped.config;
  static constexpr TokenLayout kLayout =
      kGrouped.input() == RoutedInput::kLeft ? TokenLayout::kRows : TokenLayout::kSwizzled;
  using Shape = WgmmaShape<kConfig.tokens, kConfig.groups, kConfig.weight_slots,
                           kConfig.token_slots, kConfig.slot_quarters, kConfig.transposed, kLayout>;
  dispatch_16_bit(job, [&](auto type) {
    launch_grouped_shape<Shape, decltype(type)::value, kGrouped.is_routed>(job, launch, kGrouped);
  });
}

}  // namespace nf4bench::kernels::cuda
