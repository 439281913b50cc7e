#pragma once

// What grouped_wgmma is compiled for, in two files, and which of it a product gets.

#include "cuda/matmul/experts/grouped_plan.hpp"
#include "cuda/matmul/wgmma/config.hpp"

namespace nf4bench::kernels::cuda {

// What it is compiled for, and whether a launch before sorts the slots. What a stage and the rest
// of a tile take on an H200, in nanoseconds.
struct GroupedChoice {
  WgmmaConfig config;
  bool is_routed;
  int stage_ns;
  int tile_ns;

  constexpr RoutedInput input() const {
    if (config.transposed) return RoutedInput::kSorted;
    return config.tokens <= kMostWarpTokens ? RoutedInput::kLeft : RoutedInput::kRegrouped;
  }
};

// Of two blocks a multiprocessor one multiplies while the other is at the end of a tile, and what
// is left for the last tiles is half as much.
inline constexpr WgmmaConfig kFor8Small = {.tokens = 8,
                                           .groups = 1,
                                           .weight_slots = 4,
                                           .token_slots = 4,
                                           .slot_quarters = 4,
                                           .call_ns = 1900,
                                           .costs = {}};
// Where tokens choose evenly some experts have half as many slots again as most.
inline constexpr WgmmaConfig kFor24 = {.tokens = 24,
                                       .groups = 2,
                                       .weight_slots = 5,
                                       .token_slots = 3,
                                       .slot_quarters = 4,
                                       .call_ns = 2200,
                                       .costs = {}};

inline constexpr GroupedChoice kGroupedChoices[] = {
    {kFor8Small, false, 600, 800},
    {kWgmmaConfigs[kFor16], false, 660, 1200},
    {kFor24, false, 840, 1300},
    {kFor8Small, true, 600, 800},
    {kWgmmaConfigs[kFor16], true, 660, 1200},
    {kFor24, true, 840, 1300},
    {kWgmmaConfigs[kFor32Tall], true, 1330, 700},
    {kWgmmaConfigs[kFor64Tall], true, 1570, 1500},
    {kWgmmaConfigs[kFor96Tall], true, 2060, 2000},
    {kWgmmaConfigs[kFor256], true, 2780, 4500},
    {kWgmmaConfigs[kTransposed32], true, 1430, 300},
    {kWgmmaConfigs[kTransposed96], true, 1780, 1000},
    {kWgmmaConfigs[kTransposed192], true, 2770, 1500}};
inline constexpr int kGroupedChoiceCount = sizeof(kGroupedChoices) / sizeof(GroupedChoice);

// Launches the index-th.
template <int kChoice>
void launch_grouped(const Job& job, const Launch& launch);

// Where the parts of the workspace begin, in bytes: what is routed, then the slots' sums.
struct GroupedWorkspace {
  RoutedWorkspace routed;
  std::int64_t sums;
  std::int64_t bytes;

  GroupedWorkspace(const Problem& problem, const GroupedChoice& choice)
      : routed(problem, choice.input()),
        sums(choice.is_routed ? block_count(routed.bytes, 256) * 256 : 0),
        bytes(choice.is_routed ? routed.bytes : 0) {
    if (problem.group.sums_slots) bytes = sums + slots_of(problem) * problem.outputs * 4;
  }
};

// Nanoseconds on an H200 where tokens choose evenly.
inline double time_of(const Problem& problem, const GroupedChoice& choice) {
  const WgmmaConfig& config = choice.config;
  const double kBlocks = 132.0 * blocks_of(config.groups);
  const double tiles = expected_tiles(problem, config.tokens) *
                       static_cast<double>(block_count(problem.outputs, config.rows()));
  const auto stages = static_cast<double>(block_count(problem.inputs, 256));
  const auto slots = static_cast<double>(slots_of(problem));
  const double bytes_moved = choice.input() == RoutedInput::kLeft
                                 ? 0.0
                                 : slots * static_cast<double>(problem.inputs) * 2.0;
  const double routing =
      choice.is_routed ? 4000.0 + 0.75 * slots + bytes_moved / 3000.0 : 4.0 * slots;
  return config.call_ns + routing +
         std::ceil(tiles / kBlocks) * (stages * choice.stage_ns + choice.tile_ns);
}

inline int choose_grouped(const Problem& problem) {
  int fastest = 0;
  double least = 1e30;
  for (int i = 0; i < kGroupedChoiceCount; ++i) {
    if (kGroupedChoices[i].config.transposed != problem.transposed) continue;
    const bool is_routed = kGroupedChoices[i].is_routed;
    if (!is_routed && slots_of(problem) > kMostOwnSlots) continue;
    const double ns = time_of(problem, kGroupedChoices[i]);
    if (ns >= least) continue;
    least = ns;
    fastest = i;
  }
  return fastest;
}

}  // namespace nf4bench::kernels::cuda
