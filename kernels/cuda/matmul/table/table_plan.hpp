#pragma once

// Choosing how mma_table cuts a product, on the host.

#include "cuda/matmul/persistent_launch.cuh"
#include "cuda/matmul/table/mma_table.cuh"

#include <algorithm>

namespace nf4bench::kernels::cuda {

inline constexpr int kMostTableBlocks = 192;  // of a grid, one a multiprocessor

inline bool is_ragged(const Problem& problem) {
  return problem.inputs % kRun != 0;
}

// Tiles of 256 rows, of 128, and those for which Turing has shared memory.
enum class TableTiles { kLarge, kSmall, kTuring };

// Calls use(Traits) for what `problem` is computed with. Small tiles have up to 32 tokens, as 64
// would not fit into the registers; ragged rows have small ones, as there are more scales than
// threads beyond 128 of them.
template <class Function>
auto with_table_traits(const Problem& problem, TableTiles tiles, Function use) {
  const auto with_eights = [&](auto eights) {
    constexpr int kEights = decltype(eights)::value;
    if (is_ragged(problem)) return use(TableTraits<true, 4, std::min(kEights, 4)>{});
    if (tiles == TableTiles::kLarge) return use(TableTraits<false, 8, kEights>{});
    return use(TableTraits<false, 4, std::min(kEights, 4)>{});
  };
  std::int64_t tokens = problem.tokens;
  if (tiles == TableTiles::kTuring) {
    tokens = std::min<std::int64_t>(tokens, is_ragged(problem) ? 8 : 16);
  }
  if (tokens <= 8) return with_eights(std::integral_constant<int, 1>{});
  if (tokens <= 16) return with_eights(std::integral_constant<int, 2>{});
  if (tokens <= 32) return with_eights(std::integral_constant<int, 4>{});
  return with_eights(std::integral_constant<int, 8>{});
}

// What is always one block's: inputs of a row from a multiple of that on, up to a stage.
inline int span_shift_of(const Problem& problem) {
  int shift = 5;
  if (is_ragged(problem)) return shift;
  while (shift < 7 && shift < problem.block_shift && problem.inputs % (2 << shift) == 0) ++shift;
  return shift;
}

template <class Traits>
std::int64_t tiles_of(const Problem& problem) {
  return block_count(problem.outputs, Traits::kRows) * block_count(problem.tokens, Traits::kTokens);
}

// Large ones where there are enough of them, room for the ring, and a thread for each scale of a
// stage.
inline TableTiles choose_tiles(const Problem& problem, const DeviceFacts& device) {
  if (device.compute_capability < 80) return TableTiles::kTuring;
  return with_table_traits(problem, TableTiles::kLarge, [&](auto traits) {
    using Traits = decltype(traits);
    const bool fits =
        Traits::kRows * (kStageInputs >> span_shift_of(problem)) <= kTableThreads &&
        TableLayout<Traits>::bytes(2) <= static_cast<int>(shared_bytes_a_block(device));
    return fits && tiles_of<Traits>(problem) * 16 >= device.multiprocessors ? TableTiles::kLarge
                                                                            : TableTiles::kSmall;
  });
}

template <class Traits>
TableShape table_shape(const Problem& problem, const DeviceFacts& device) {
  constexpr int kMostSlots = 4;
  using Layout = TableLayout<Traits>;
  const auto room = static_cast<int>(shared_bytes_a_block(device));
  return {std::min(kMostSlots, (room - Layout::kRing) / Layout::kSlotBytes),
          span_shift_of(problem)};
}

template <class Traits>
StagePlan plan_table(const Problem& problem, const DeviceFacts& device) {
  constexpr StageCosts kCosts = {.stage = 1, .spread = 3, .team = 3};
  StagePlan plan = plan_tiles(static_cast<int>(tiles_of<Traits>(problem)),
                              static_cast<int>(block_count(problem.inputs, kStageInputs)),
                              std::min(device.multiprocessors, kMostTableBlocks), kCosts);
  plan.token_groups = static_cast<int>(block_count(problem.tokens, Traits::kTokens));
  return plan;
}

// As much as any device takes.
inline std::size_t table_workspace(const Problem& problem) {
  std::size_t most = 0;
  for (const TableTiles each : {TableTiles::kLarge, TableTiles::kSmall, TableTiles::kTuring}) {
    with_table_traits(problem, each, [&](auto traits) {
      using Traits = decltype(traits);
      const std::int64_t tiles = tiles_of<Traits>(problem);
      const std::int64_t stages = block_count(problem.inputs, kStageInputs);
      const std::int64_t parts = std::min<std::int64_t>(kMostTableBlocks, tiles * stages) +
                                 std::min<std::int64_t>(kMostTableBlocks, tiles);
      most = std::max(most, static_cast<std::size_t>(parts) * sizeof(float4) * Traits::kPieces);
    });
  }
  return most;
}

}  // namespace nf4bench::kernels::cuda
